"""The worker as the window uses it: a process, JSON lines, and nothing that a file or template does ends the window."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from engine.data.store import remove_left_overs
from engine.protocol.data_messages import (
    AnyDataAnswer,
    DataFailed,
    DataMeasured,
    DataProgress,
    DatasetPreviewed,
    InspectTokens,
    MeasureData,
    PageRows,
    PreviewDataset,
    RowsPaged,
    StopWorker,
    TokensInspected,
    WorkerStopped,
    decode_data_answer,
)
from engine.protocol.recipe import DatasetRef
from tests.helpers.datasets import chat, data_recipe, write_lines
from tests.helpers.text_models import CHATML, write_tokenizer

ROOT = Path(__file__).resolve().parents[3]


class Worker:
    """The real process and the window's side of the talk."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine.data", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, request: msgspec.Struct) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(request) + b"\n")
        self.process.stdin.flush()

    def answers(self) -> Iterator[AnyDataAnswer]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield decode_data_answer(line)

    def ask(self, request: msgspec.Struct) -> AnyDataAnswer:
        """The last answer: a result or a failure."""
        self.send(request)
        return next(answer for answer in self.answers() if not isinstance(answer, DataProgress))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    process = Worker()
    yield process
    process.close()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tokenizer(tmp_path_factory.mktemp("tokenizer"), "chatml"))


ROWS = [
    chat("Hi", "Hello"),
    "{broken",
    chat("Long one", "word " * 200),
    chat("Grüße 🙂", "Ça va 東京", "More", "Yes"),
    chat("Only a question"),
]


@pytest.mark.scenario("S14")
def test_preview(worker: Worker, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", ROWS)
    answer = worker.ask(PreviewDataset(id="1", dataset=DatasetRef(str(path)), rows=2))
    assert isinstance(answer, DatasetPreviewed) and answer.id == "1"
    assert (answer.format, answer.columns, answer.files) == ("messages", ("messages",), ("rows.jsonl",))
    assert answer.evidence.startswith("4 of 4 rows are Chat messages")
    assert [row.place.line for row in answer.rows] == [1, 3] and json.loads(answer.rows[0].text) == ROWS[0]
    assert [(place.file, place.line) for place in answer.problems] == [("rows.jsonl", 2)]
    assert answer.encodings == ("utf-8",) and answer.size_bytes == path.stat().st_size and not answer.complete


def test_preview_of_a_large_file_is_quick(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    with path.open("w", encoding="utf-8") as file:
        element = json.dumps(chat("Hi", "x" * 100_000))
        file.write("[" + ",\n".join([element] * 1_500) + "]")
    begun = time.monotonic()
    answer = worker.ask(PreviewDataset(id="1", dataset=DatasetRef(str(path))))
    assert isinstance(answer, DatasetPreviewed) and len(answer.rows) == 200
    assert time.monotonic() - begun < 3.0


def test_pages_of_rows(worker: Worker, tmp_path: Path, tokenizer: str) -> None:
    path = write_lines(tmp_path / "rows.jsonl", ROWS)
    recipe = data_recipe(path, sequence_length=64)
    answer = worker.ask(PageRows(id="2", recipe=recipe, tokenizer_folder=tokenizer, count=4))
    assert isinstance(answer, RowsPaged) and answer.more
    assert [row.issues for row in answer.rows] == [(), ("malformed",), ("too_long",), ()]
    first, _, long, last = answer.rows
    assert first.title == "Hi" and first.turns == 2 and first.tokens and first.trained and first.cut == 0
    assert long.tokens is not None and long.cut == long.tokens - 64 and last.turns == 4
    second = worker.ask(PageRows(id="3", recipe=recipe, tokenizer_folder=tokenizer, offset=4, count=4))
    assert isinstance(second, RowsPaged) and not second.more
    assert [(row.row, row.place.line, row.issues) for row in second.rows] == [(4, 5, ("no_assistant",))]
    assert second.next_row == 5
    bare = worker.ask(PageRows(id="4", recipe=recipe, count=2))
    assert isinstance(bare, RowsPaged) and [row.tokens for row in bare.rows] == [None, None]


def test_rows_are_searched(worker: Worker, tmp_path: Path, tokenizer: str) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [chat(f"Question {n}?", "Yes" if n % 50 else " ") for n in range(400)])
    recipe = data_recipe(path)
    request = PageRows(id="s", recipe=recipe, tokenizer_folder=tokenizer, search="QUESTION 12", count=4)
    found = worker.ask(request)
    assert isinstance(found, RowsPaged) and [row.row for row in found.rows] == [12, 120, 121, 122]
    assert found.more and found.next_row == 123
    rest = worker.ask(msgspec.structs.replace(request, offset=found.next_row, count=50))
    assert isinstance(rest, RowsPaged) and [row.row for row in rest.rows] == list(range(123, 130)) and not rest.more
    empty = worker.ask(msgspec.structs.replace(request, search="", issue="empty_assistant", count=50))
    assert isinstance(empty, RowsPaged) and [row.row for row in empty.rows] == list(range(0, 400, 50))


def test_a_row_as_tokens_is_what_training_sees(worker: Worker, tmp_path: Path, tokenizer: str) -> None:
    from engine.data.preparing import open_dataset
    from tests.helpers.datasets import silent

    path = write_lines(tmp_path / "rows.jsonl", ROWS)
    recipe = data_recipe(path, sequence_length=64, evaluation_fraction=0.0, packing=False)
    data = open_dataset(recipe, Path(tokenizer), tmp_path / "cache", silent)
    trained = {}
    for index in range(len(data.training)):
        batch = data.training.at(0, index)
        size = int(batch.documents[1])
        trained[tuple(batch.ids[:size].tolist())] = [False, *(batch.loss_weights[: size - 1] > 0).tolist()]
    for row in (0, 2, 3):
        answer = worker.ask(InspectTokens(id="5", recipe=recipe, tokenizer_folder=tokenizer, row=row))
        assert isinstance(answer, TokensInspected)
        assert "".join(answer.texts) == answer.rendered
        assert trained[answer.ids[: answer.cut_at]] == list(answer.trained[: answer.cut_at])
        assert answer.texts[0] == "<|im_start|>" and answer.special[0] and not answer.special[1]
        assert ("too_long" in answer.issues) == (answer.cut_at < len(answer.ids))
    refused = worker.ask(InspectTokens(id="6", recipe=recipe, tokenizer_folder=tokenizer, row=4))
    assert isinstance(refused, TokensInspected) and refused.issues == ("no_assistant",) and refused.reason
    missing = worker.ask(InspectTokens(id="7", recipe=recipe, tokenizer_folder=tokenizer, row=99))
    assert isinstance(missing, DataFailed) and missing.problem.code == "row_missing"


def test_statistics_with_progress(worker: Worker, tmp_path: Path, tokenizer: str) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [chat(f"Question {n}?", f"Answer {n}") for n in range(600)])
    recipe = data_recipe(path, sequence_length=64)
    request = MeasureData(id="8", recipe=recipe, tokenizer_folder=tokenizer, cache_folder=str(tmp_path / "cache"))
    worker.send(request)
    progress = []
    for answer in worker.answers():
        assert answer.id == "8"
        if isinstance(answer, DataMeasured):
            break
        assert isinstance(answer, DataProgress)
        progress.append(answer)
    assert {answer.phase for answer in progress} == {"reading", "tokenising", "packing"}
    assert all(answer.done <= answer.total for answer in progress)
    assert answer.statistics.rows_read == 600 and answer.statistics.evaluation.rows == 30


def test_failures_are_answers_and_the_worker_goes_on(worker: Worker, tmp_path: Path, tokenizer: str) -> None:
    missing = worker.ask(PreviewDataset(id="9", dataset=DatasetRef(str(tmp_path / "gone.jsonl"))))
    assert isinstance(missing, DataFailed) and missing.problem.code == "dataset_missing"
    assert worker.process.stdin is not None
    worker.process.stdin.write(b'{"request": "sing", "id": "10"}\nnot json\n')
    worker.process.stdin.flush()
    for _ in range(2):
        answer = next(worker.answers())
        assert isinstance(answer, DataFailed) and answer.problem.code == "data_request_unknown"
    path = write_lines(tmp_path / "rows.jsonl", ROWS)
    assert isinstance(worker.ask(PreviewDataset(id="11", dataset=DatasetRef(str(path)))), DatasetPreviewed)


def hostile(tmp_path: Path, name: str, expression: str) -> str:
    return str(write_tokenizer(tmp_path / name, "chatml", template=expression + CHATML))


def test_hostile_templates_are_failures_by_name(worker: Worker, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", ROWS)
    recipe = data_recipe(path)
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    for name, expression, code in (
        ("loop", loop, "template_too_slow"),
        ("output", "{% for a in range(99999) %}{{ 'x' * 10000 }}{% endfor %}", "template_too_large"),
        ("escape", "{{ ''.__class__.__mro__ }}", "template_forbidden"),
        ("power", "{{ 9 ** 99999999 }}", "template_forbidden"),
    ):
        folder = hostile(tmp_path, name, expression)
        answer = worker.ask(InspectTokens(id=name, recipe=recipe, tokenizer_folder=folder, row=0))
        assert isinstance(answer, DataFailed) and answer.problem.code == code, answer
    assert isinstance(worker.ask(PreviewDataset(id="12", dataset=DatasetRef(str(path)))), DatasetPreviewed)


@pytest.mark.skipif(sys.platform == "win32", reason="no memory limit of processes")
def test_memory_is_bounded(tmp_path: Path, tokenizer: str) -> None:
    path = write_lines(tmp_path / "rows.jsonl", ROWS)
    doubling = (
        "{% set ns = namespace(x='x' * 1000000) %}{% for a in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"
    )
    worker = Worker("--memory-bytes", str(600 << 20))
    try:
        folder = hostile(tmp_path, "memory", doubling)
        answer = worker.ask(InspectTokens(id="13", recipe=data_recipe(path), tokenizer_folder=folder, row=0))
        assert isinstance(answer, DataFailed) and answer.problem.code == "template_too_large"
        sound = worker.ask(InspectTokens(id="14", recipe=data_recipe(path), tokenizer_folder=tokenizer, row=0))
        assert isinstance(sound, TokensInspected)
    finally:
        worker.close()


def test_stop_and_end_of_input_end_the_worker() -> None:
    stopped = Worker()
    assert isinstance(stopped.ask(StopWorker(id="15")), WorkerStopped)
    assert stopped.process.wait(10) == 0
    stopped.close()
    left = Worker()
    assert left.process.stdin is not None
    left.process.stdin.close()
    assert left.process.wait(10) == 0
    left.close()


def test_a_worker_killed_in_the_middle_leaves_no_half_cache(tmp_path: Path, tokenizer: str) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [chat(f"Question {n}?", "word " * 100) for n in range(6_000)])
    worker = Worker()
    request = MeasureData(
        id="16", recipe=data_recipe(path), tokenizer_folder=tokenizer, cache_folder=str(tmp_path / "cache")
    )
    worker.send(request)
    for answer in worker.answers():
        assert isinstance(answer, DataProgress)
        if answer.phase == "tokenising":
            break
    worker.close()
    left = list((tmp_path / "cache").iterdir())
    assert len(left) == 1 and left[0].name.startswith(".")
    yesterday = time.time() - 90_000
    os.utime(left[0], (yesterday, yesterday))
    remove_left_overs(tmp_path / "cache")
    assert not left[0].exists()


def test_the_worker_imports_no_torch() -> None:
    code = (
        "import sys, engine.data.worker; print([m for m in ('torch', 'transformers', 'PySide6') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
