"""`engine evaluate`: the evaluation loss of a checkpoint, or of the untrained model, on the run's held-out rows."""

from __future__ import annotations

from pathlib import Path

from engine.data.preparing import open_dataset
from engine.protocol.errors import SurroundingsError
from engine.protocol.events import EvaluationCompleted
from engine.protocol.folder import RunFolder
from engine.training.checkpoint import read_manifest
from engine.training.evaluation import evaluate
from engine.training.event_writer import EventWriter
from engine.training.micro_batches import MicroBatches
from engine.training.numerics import check_data
from engine.training.outcome import ExitCode, printing_events
from engine.training.phases import phase
from engine.training.prepare import tokens_cache
from engine.training.run_files import read_plan
from engine.training.served_model import open_executor, subject_of_run


def evaluate_run(run: Path, checkpoint: str) -> ExitCode:
    """Print the loss as an event. Fails where the run holds nothing out ("nothing_to_evaluate")."""

    def work(events: EventWriter) -> ExitCode:
        folder = RunFolder(run)
        subject = subject_of_run(folder, checkpoint)
        if subject.checkpoint is not None:
            events.step = read_manifest(subject.checkpoint).state.step
        with phase("tokenising", events, _nothing) as progress:
            cache = tokens_cache(folder)
            data = open_dataset(subject.recipe, subject.base, cache, lambda _, d, t, u: progress(d, t, u))
        check_data(read_plan(folder).numerics, data.statistics)
        if not len(data.evaluation):
            raise SurroundingsError(
                "nothing_to_evaluate", "The run holds no rows out for evaluation.", "Set evaluation_fraction."
            )
        with phase("reading_model", events, _nothing) as progress:
            _, executor = open_executor(subject, subject.options, ("evaluate",), progress)
        with phase("evaluating", events, _nothing) as progress:
            result = evaluate(executor, MicroBatches(data.evaluation, len(data.evaluation)), progress)
        events.write(
            EvaluationCompleted(
                **events.stamp(),
                evaluation_loss=result.loss_or_none,
                accuracy=result.accuracy,
                trained_tokens=result.tokens,
                seconds=result.seconds,
            )
        )
        return ExitCode.DONE

    return printing_events(work)


def _nothing() -> None:
    """Nobody can stop this command but by ending it."""
