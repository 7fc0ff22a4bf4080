"""What happens before the first step, told as it happens: reading, tokenising, compiling, warming up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from engine.protocol.events import PhaseCompleted, PhaseProgressed, PhaseStarted
from engine.training.event_writer import EventWriter

SECONDS_BETWEEN_REPORTS = 0.25

Progress = Callable[[int, int, str], None]
"""`progress(done, total, unit)`; total 0: unknown."""


@contextlib.contextmanager
def phase(name: str, events: EventWriter, tick: Callable[[], None]) -> Iterator[Progress]:
    """Report a phase. The progress function may be called as often as one likes; it also calls `tick`, which may stop.

    A phase that ends by an exception writes no `PhaseCompleted`.
    """
    tick()
    began = time.monotonic()
    last_report = began
    events.write(PhaseStarted(**events.stamp(), phase=name))

    def progress(done: int, total: int, unit: str) -> None:
        nonlocal last_report
        tick()
        now = time.monotonic()
        if now - last_report < SECONDS_BETWEEN_REPORTS and done != total:
            return
        last_report = now
        remaining = (now - began) / done * (total - done) if 0 < done <= total else None
        events.write(
            PhaseProgressed(
                **events.stamp(), phase=name, done=done, total=total, unit=unit, remaining_seconds=remaining
            )
        )

    yield progress
    events.write(PhaseCompleted(**events.stamp(), phase=name, seconds=time.monotonic() - began))
