"""From events to the state of a run: one pure function, one event at a time, in the order of the file.

launching ─► preparing ─► training ⇄ paused ─► finished | stopped | failed      (lost: see reconcile.py)
"""

from __future__ import annotations

from msgspec.structs import replace

from engine.protocol import events as e
from engine.protocol.errors import Problem
from studio.runs.rows import RunRow

AnyEvent = e.KnownEvent | e.UnknownEvent


def fold(row: RunRow, event: AnyEvent, *, seconds_before: float) -> RunRow:
    """The row after `event`.

    Args:
        seconds_before: time spent in earlier attempts; event times count from the beginning of their own attempt.
    """
    row = replace(
        row,
        attempt=max(row.attempt, event.attempt),
        last_sequence=event.sequence,
        seconds=seconds_before + event.elapsed_seconds,
    )
    match event:
        case e.RunStarted() | e.TrainingStarted() | e.PhaseStarted() | e.PhaseProgressed() | e.PhaseCompleted():
            return _preparing(row, event)
        case e.StepCompleted():
            return _step(row, event)
        case e.EvaluationCompleted():
            return _evaluated(row, event)
        case e.NonFiniteSeen():
            return replace(row, non_finite=row.non_finite + 1)
        case e.RunPaused():
            return replace(row, status="paused", remaining_seconds=None)
        case e.RunUnpaused():
            return replace(row, status="training")
        case e.RunStopped() | e.RunFinished() | e.RunFailed():
            return _ended(row, event)
        case _:
            return row


def _preparing(
    row: RunRow,
    event: e.RunStarted | e.TrainingStarted | e.PhaseStarted | e.PhaseProgressed | e.PhaseCompleted,
) -> RunRow:
    match event:
        case e.RunStarted():
            return replace(
                row,
                status="preparing",
                started_utc=row.started_utc or event.time_utc,
                ended_utc=None,
                reason=None,
                device=event.device,
                total_steps=event.total_steps if event.total_steps is not None else row.total_steps,
                step=event.resumed_from_step or 0,
                remaining_seconds=None,
                loss=row.loss if event.resumed_from_step else None,
            )
        case e.TrainingStarted():
            return replace(_no_phase(row), status="training", total_steps=event.total_steps)
        case e.PhaseStarted():
            return replace(_no_phase(row), phase=event.phase)
        case e.PhaseProgressed():
            return replace(
                row,
                phase=event.phase,
                phase_done=event.done,
                phase_total=event.total,
                phase_unit=event.unit,
                remaining_seconds=event.remaining_seconds,
            )
        case e.PhaseCompleted():
            return _no_phase(row)


def _step(row: RunRow, event: e.StepCompleted) -> RunRow:
    return replace(
        _no_phase(row),
        status="training" if row.status != "paused" else row.status,
        step=event.step,
        loss=event.loss,
        tokens_per_second=event.tokens_per_second,
        remaining_seconds=event.remaining_seconds,
        trained_tokens=row.trained_tokens + event.trained_tokens,
    )


def _evaluated(row: RunRow, event: e.EvaluationCompleted) -> RunRow:
    loss = event.evaluation_loss
    row = replace(row, evaluation_loss=loss)
    if event.step == 0:  # the model as it was: no checkpoint of it can be the best
        return row
    if loss is not None and (row.best_evaluation_loss is None or loss < row.best_evaluation_loss):
        return replace(row, best_evaluation_loss=loss, best_step=event.step)
    return row


def _ended(row: RunRow, event: e.RunStopped | e.RunFinished | e.RunFailed) -> RunRow:
    row = replace(_no_phase(row), ended_utc=event.time_utc, remaining_seconds=None, tokens_per_second=None)
    match event:
        case e.RunFinished():
            return replace(
                row,
                status="finished",
                reason=None,
                loss=event.final_loss,
                best_evaluation_loss=event.best_evaluation_loss,
                best_step=event.best_step,
            )
        case e.RunFailed():
            return replace(row, status="failed", reason=event.problem)
        case e.RunStopped():
            reason = Problem(
                f"run.stopped.{event.reason}", "The run was stopped.", severity="warning",
                arguments={"reason": event.reason, "checkpoint_step": event.checkpoint_step},
            )  # fmt: skip
            return replace(row, status="stopped", reason=reason)


def _no_phase(row: RunRow) -> RunRow:
    return replace(row, phase="", phase_done=None, phase_total=None, phase_unit="")
