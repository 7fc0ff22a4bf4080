"""Our end of the data worker, against the real worker process."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.protocol.data_messages import DataProgress
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe
from studio.datasets.worker import DataWorker
from studio.environment import child_environment
from studio.settings import Settings
from tests.helpers.tiny_models import write_tiny_llama


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    turns = [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": "The quick brown fox."}]
    path.write_text("".join(json.dumps({"messages": turns}) + "\n" for _ in range(40)))
    return path


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[DataWorker]:
    worker = DataWorker(lambda: child_environment(os.environ, Settings(), home=tmp_path), tmp_path / "data.log")
    yield worker
    worker.close()


def test_preview_tokens_and_statistics(worker: DataWorker, rows: Path, tmp_path: Path) -> None:
    dataset = DatasetRef(str(rows))
    assert worker.preview(dataset).format == "messages"
    model = write_tiny_llama(tmp_path / "model")
    recipe = Recipe(model=ModelRef("folder", path=str(model)), datasets=(dataset,), sequence_length=64)
    tokens = worker.tokens(recipe, model, 0)
    assert "The quick brown fox." in "".join(t for t, on in zip(tokens.texts, tokens.trained, strict=True) if on)
    page = worker.rows(recipe, tokenizer=model, count=5)
    assert (len(page.rows), page.more) == (5, True)
    told: list[DataProgress] = []
    statistics = worker.measure(recipe, model, tmp_path / "cache", told.append)
    assert statistics.rows_read == 40
    assert told


def test_what_cannot_be_read_is_an_error_and_the_worker_goes_on(worker: DataWorker, rows: Path) -> None:
    with pytest.raises(SurroundingsError):
        worker.preview(DatasetRef("/no/such/file.jsonl"))
    assert worker.preview(DatasetRef(str(rows))).format == "messages"


def test_a_killed_worker_is_named_and_another_started(worker: DataWorker, rows: Path) -> None:
    worker.preview(DatasetRef(str(rows)))
    process = worker._process
    assert process is not None
    process.kill()
    process.wait()
    assert worker.preview(DatasetRef(str(rows))).format == "messages"
    assert worker._process is not process


def test_cancelling_ends_a_long_request_at_once(
    worker: DataWorker, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.datasets.worker.module_command", lambda *a: ["sleep", "60"])
    failures: list[SurroundingsError] = []

    def ask() -> None:
        try:
            worker.preview(DatasetRef(str(rows)))
        except SurroundingsError as error:
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while worker._process is None:
        time.sleep(0.01)
    began = time.monotonic()
    worker.cancel()
    thread.join(5)
    assert time.monotonic() - began < 2
    assert [error.code for error in failures] == ["data.cancelled"]


def test_a_worker_that_does_not_answer_is_given_up(rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.datasets.worker.PREVIEW_SECONDS", 0.3)
    monkeypatch.setattr("studio.datasets.worker.module_command", lambda *a: ["sleep", "60"])
    worker = DataWorker(lambda: dict(os.environ), tmp_path / "data.log")
    with pytest.raises(SurroundingsError) as caught:
        worker.preview(DatasetRef(str(rows)))
    assert caught.value.code == "data.too_slow"
    monkeypatch.setattr("studio.datasets.worker.module_command", lambda *a: ["sh", "-c", "echo boom >&2; exit 3"])
    with pytest.raises(SurroundingsError, match="boom") as died:
        worker.preview(DatasetRef(str(rows)))
    assert died.value.code == "data.worker_died"
    worker.close()
