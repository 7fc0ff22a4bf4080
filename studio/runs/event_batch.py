"""A batch of lines from `events.jsonl`: the run's row moves on, points and kept events are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from engine.protocol import events as e
from studio.runs.fold import AnyEvent, fold
from studio.runs.records import event_row, metrics_of, sample_row
from studio.runs.rows import CheckpointRow, MetricRow, RunRow
from studio.runs.writer import Attempt, HistoryWriter


@dataclass
class _Batch:
    """What one call gathers. `attempts` are those known so far, by number."""

    writer: HistoryWriter
    row: RunRow
    attempts: dict[int, Attempt]
    points: list[MetricRow] = field(default_factory=list)

    def take(self, event: AnyEvent) -> None:
        run = self.row.id
        self._attempt(event)
        before = sum(a.seconds for number, a in self.attempts.items() if number < event.attempt)
        self.row = fold(self.row, event, seconds_before=before)
        if isinstance(event, e.RunStarted):
            tokens = self.writer.trained_tokens_at(run, event.resumed_from_step or 0)
            self.row = replace(self.row, trained_tokens=tokens)
        self.points.extend(metrics_of(event, self.row.trained_tokens))
        kept = event_row(run, event)
        if kept is not None:
            self._flush_points()
            self.writer.put(kept)
        match event:
            case e.SampleGenerated():
                self.writer.put(sample_row(run, event))
            case e.CheckpointSaved():
                self.writer.put(_checkpoint_row(run, event))
            case e.CheckpointDeleted():
                self.writer.mark_checkpoint_deleted(run, event.checkpoint_step)

    def _attempt(self, event: AnyEvent) -> None:
        known = self.attempts.get(event.attempt)
        if isinstance(event, e.RunStarted):
            first = (event.resumed_from_step or 0) + 1
        else:
            first = known.first_step if known else event.step + (0 if isinstance(event, e.StepCompleted) else 1)
        started = known.started_utc if known else event.time_utc
        self.attempts[event.attempt] = Attempt(first, started, event.elapsed_seconds)

    def _flush_points(self) -> None:
        self.writer.put_metrics(self.row.id, self.points)
        self.points.clear()

    def finish(self) -> RunRow:
        self._flush_points()
        for number, attempt in self.attempts.items():
            self.writer.put_attempt(self.row.id, number, attempt)
        return self.row


def apply_events(writer: HistoryWriter, row: RunRow, lines: Sequence[bytes]) -> RunRow:
    """The row after these lines. A line that is no event at all (torn by a kill) is counted, and the rest is used."""
    if not lines:
        return row
    batch = _Batch(writer, row, writer.attempts(row.id))
    bad = 0
    for line in lines:
        try:
            event = e.decode_event(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            bad += 1
            continue
        batch.take(event)
    return replace(batch.finish(), bad_lines=row.bad_lines + bad)


def _checkpoint_row(run: str, event: e.CheckpointSaved) -> CheckpointRow:
    return CheckpointRow(
        run, event.step, event.attempt, event.path, event.sha256, event.size_bytes, event.evaluation_loss,
        event.reason, event.time_utc, False,
    )  # fmt: skip
