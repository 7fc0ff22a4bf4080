"""Which rows of the history an event adds, besides changing the run's own row."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from engine.protocol import events as e
from studio.runs.fold import AnyEvent
from studio.runs.rows import EventRow, MetricRow, SampleRow

_NOT_KEPT_AS_TEXT = (e.StepCompleted, e.PhaseProgressed, e.ResourcesMeasured)


def metrics_of(event: AnyEvent, trained_tokens: int) -> Iterator[MetricRow]:
    """The points that an event adds to the curves. `trained_tokens` is the run's total at the event."""
    for key, value in _values(event):
        yield MetricRow(key, event.step, event.attempt, value, event.elapsed_seconds, trained_tokens)


def _values(event: AnyEvent) -> Iterator[tuple[str, float | None]]:
    match event:
        case e.StepCompleted():
            yield "loss", event.loss
            yield "learning_rate", event.learning_rate
            yield "grad_norm", event.grad_norm
            yield "tokens_per_second", event.tokens_per_second
            yield "step_seconds", event.step_seconds
            yield "epoch", event.epoch
            yield from event.metrics.items()
        case e.EvaluationCompleted():
            yield "evaluation_loss", event.evaluation_loss
            if event.accuracy is not None:
                yield "evaluation_accuracy", event.accuracy
        case e.ResourcesMeasured():
            yield "resident_bytes", float(event.resident_bytes)
            yield "cpu_percent", event.cpu_percent
            for category, size in event.memory_bytes.items():
                yield f"memory_bytes/{category}", float(size)
            for category, size in event.planned_bytes.items():
                yield f"planned_bytes/{category}", float(size)
            for name, number in event.device.items():
                yield f"device/{name}", number


def event_row(run: str, event: AnyEvent) -> EventRow | None:
    """The event word for word; None for those that only make points."""
    if isinstance(event, _NOT_KEPT_AS_TEXT):
        return None
    if isinstance(event, e.UnknownEvent):
        kind, content = event.name, msgspec.json.encode(event.content).decode()
    else:
        kind, content = type(event).__name__, msgspec.json.encode(event).decode()
    return EventRow(run, event.sequence, kind, event.attempt, event.step, event.time_utc, content)


def sample_row(run: str, event: e.SampleGenerated) -> SampleRow:
    return SampleRow(run, event.step, event.attempt, event.index, event.prompt, event.text, event.new_tokens)
