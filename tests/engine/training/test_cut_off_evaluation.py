"""A stop in the middle of an evaluation: the run ends at once, and the number is not lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.protocol.events import CheckpointSaved, EvaluationCompleted
from engine.training import evaluation, evaluator
from engine.training.checkpoint import checkpoint_hash, read_manifest
from engine.training.evaluation import EvaluationResult, Progress
from engine.training.executor import Executor
from engine.training.micro_batches import MicroBatches
from engine.training.outcome import ExitCode
from engine.training.train_run import train_run
from engine.training.watch import StopRequested
from tests.helpers.tiny_runs import events_of, make_run


@pytest.mark.parametrize("step", [2, 4], ids=["in the middle", "the last"])
def test_an_evaluation_that_a_stop_cut_off_is_made_at_the_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    folder = make_run(tmp_path, maximum_steps=4, evaluate_every=2)
    evaluate, calls = evaluation.evaluate, iter(range(0, 5, 2))

    def stopped(executor: Executor, batches: MicroBatches, progress: Progress) -> EvaluationResult:
        if next(calls) == step:
            raise StopRequested("asked")
        return evaluate(executor, batches, progress)

    with monkeypatch.context() as patched:
        patched.setattr(evaluator, "evaluate", stopped)
        assert train_run(folder.path) is ExitCode.STOPPED
    assert read_manifest(folder.checkpoint(step)).state.evaluation_loss is None
    assert train_run(folder.path) is ExitCode.DONE
    losses = {event.step: event.evaluation_loss for event in events_of(folder, EvaluationCompleted)}
    assert sorted(losses) == [0, 2, 4]
    newest, path = folder.checkpoints()[-1]
    assert (newest, read_manifest(path).state.evaluation_loss) == (4, losses[4])
    told = [event for event in events_of(folder, CheckpointSaved) if event.step == 4]
    assert (told[-1].sha256, told[-1].evaluation_loss) == (checkpoint_hash(path), losses[4])
