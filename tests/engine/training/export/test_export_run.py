"""Export, generate and evaluate as the processes that the studio starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.protocol.events import (
    EvaluationCompleted,
    Event,
    ExportStarted,
    ExportVerified,
    ExportWritten,
    RunFailed,
    TextGenerated,
    decode_event,
)
from engine.protocol.folder import RunFolder
from engine.training.checkpoint import checkpoint_hash
from engine.training.export.target import read_record
from tests.helpers.tiny_runs import engine_environment, events_of, make_run, run_engine


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run with two checkpoints."""
    folder = make_run(
        tmp_path_factory.mktemp("home"), maximum_steps=8, evaluate_every=4, checkpoint_every=4, name="Tiny"
    )
    assert run_engine(folder) == 0
    return folder


def _engine(*arguments: str) -> tuple[int, list[Event]]:
    process = subprocess.run(
        [sys.executable, "-m", "engine", *arguments], env=engine_environment(), capture_output=True, check=False
    )
    return process.returncode, [decode_event(line) for line in process.stdout.splitlines()]


@pytest.mark.scenario("S32")
def test_an_export_is_written_tested_and_recorded(trained: RunFolder, tmp_path: Path) -> None:
    out = tmp_path / "my export"
    code, events = _engine("export", "--run", str(trained.path), "--format", "merged", "--out", str(out))
    assert code == 0, events
    recorded = [decode_event(line) for line in trained.exports.read_bytes().splitlines()]
    assert [type(event) for event in recorded] == [ExportStarted, ExportWritten, ExportVerified]
    verified = events[-1]
    assert isinstance(verified, ExportVerified)
    assert (verified.passed, verified.prompts, verified.reasons) == (True, 3, [])
    record = read_record(out)
    assert record is not None
    best = dict(trained.checkpoints())[record.checkpoint_step]
    assert record.checkpoint_sha256 == checkpoint_hash(best)
    card = (out / "README.md").read_text()
    assert "# Tiny" in card
    assert record.checkpoint_sha256 in card
    assert str(tmp_path) not in card


def test_a_folder_with_other_things_is_refused(trained: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("x")
    code, events = _engine("export", "--run", str(trained.path), "--out", str(tmp_path))
    assert code == 1
    assert isinstance(events[-1], RunFailed)
    assert events[-1].problem.code == "export_target_taken"
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def test_evaluating_a_checkpoint_gives_the_number_that_training_gave(trained: RunFolder) -> None:
    during = {event.step: event.evaluation_loss for event in events_of(trained, EvaluationCompleted)}
    for which, step in (("last", 8), ("base", 0)):
        code, events = _engine("evaluate", "--run", str(trained.path), "--checkpoint", which)
        assert code == 0
        assert isinstance(events[-1], EvaluationCompleted)
        assert (events[-1].step, events[-1].evaluation_loss) == (step, during[step])


def test_generate_streams_pieces_that_make_up_the_text(trained: RunFolder) -> None:
    code, events = _engine(
        "generate", "--run", str(trained.path), "--prompt", "The dog", "--prompt", "A fox", "--max-tokens", "6"
    )
    assert code == 0
    texts = [event for event in events if isinstance(event, TextGenerated)]
    for index in (0, 1):
        pieces = [event.text for event in texts if event.prompt_index == index and not event.done]
        (done,) = [event for event in texts if event.prompt_index == index and event.done]
        assert "".join(pieces) == done.text
        assert 1 <= done.new_tokens <= 6


def test_an_unknown_checkpoint_is_named(trained: RunFolder) -> None:
    code, events = _engine("generate", "--run", str(trained.path), "--checkpoint", "99", "--prompt", "x")
    assert code == 1
    assert isinstance(events[-1], RunFailed)
    assert events[-1].problem.code == "no_such_checkpoint"
    assert "8" in events[-1].problem.remedy
