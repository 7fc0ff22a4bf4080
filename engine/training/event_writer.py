"""The one writer of a run's `events.jsonl`: whole lines, appended, never waiting for a reader.

`sequence` goes on over attempts: a new attempt continues after the last whole line. A line that a kill cut in half is
left where it is and the next event begins on a line of its own, so nothing written before it is lost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypedDict

import msgspec

from engine.protocol.codec import to_line, utc_now
from engine.protocol.events import (
    CommandAccepted,
    CommandIgnored,
    CommandRejected,
    Event,
    decode_event,
)
from engine.protocol.files import disk


class Stamp(TypedDict):
    """The fields that every event carries."""

    sequence: int
    attempt: int
    step: int
    time_utc: str
    elapsed_seconds: float


class EventWriter:
    """Appends events to an open binary file: `writer.write(StepCompleted(**writer.stamp(), loss=…))`.

    `step` is the number of optimizer steps completed; the loop keeps it up to date.
    """

    def __init__(self, file: IO[bytes], *, attempt: int, last_sequence: int, step: int = 0) -> None:
        self._file = file
        self._sequence = last_sequence
        self._began = time.monotonic()
        self.attempt = attempt
        self.step = step

    @property
    def elapsed_seconds(self) -> float:
        """Since this attempt's writer was made (monotonic clock)."""
        return time.monotonic() - self._began

    def stamp(self) -> Stamp:
        """Where and when the next event stands."""
        return Stamp(
            sequence=self._sequence + 1,
            attempt=self.attempt,
            step=self.step,
            time_utc=utc_now(),
            elapsed_seconds=round(self.elapsed_seconds, 6),
        )

    def write(self, event: Event) -> None:
        """Append one line and hand it to the system. Raises ValueError for an event stamped out of turn, or OSError."""
        if event.sequence != self._sequence + 1:
            raise ValueError(f"event {event.sequence} out of turn after {self._sequence}")
        disk().write(self._file, to_line(event))
        self._sequence = event.sequence

    def sync(self) -> None:
        """Make what was written durable (called at checkpoints and at the end)."""
        disk().sync(self._file)

    def close(self) -> None:
        self._file.close()


@dataclass
class EventHistory:
    """What earlier attempts left in `events.jsonl`."""

    last_sequence: int = 0
    last_attempt: int = 0
    ends_torn: bool = False
    answered_commands: set[str] = field(default_factory=set)


def read_history(path: Path) -> EventHistory:
    """Read all whole lines. Lines that are no events (torn by a kill) are passed over."""
    history = EventHistory()
    if not path.exists():
        return history
    last = b"\n"
    with path.open("rb") as file:
        for last in file:
            try:
                event = decode_event(last)
            except msgspec.DecodeError:
                continue
            history.last_sequence = max(history.last_sequence, event.sequence)
            history.last_attempt = max(history.last_attempt, event.attempt)
            if isinstance(event, CommandAccepted | CommandRejected | CommandIgnored):
                history.answered_commands.add(event.command_id)
    history.ends_torn = not last.endswith(b"\n")
    return history


def open_event_log(path: Path, history: EventHistory, *, attempt: int) -> EventWriter:
    """The writer of one attempt, after what `read_history` found. Raises OSError."""
    file = path.open("ab")
    if history.ends_torn:
        disk().write(file, b"\n")
    return EventWriter(file, attempt=attempt, last_sequence=history.last_sequence)
