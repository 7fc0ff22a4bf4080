"""What the machine does meanwhile, measured beside the steps and never in their way."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

import psutil

from engine.protocol.events import ResourcesMeasured
from engine.training.event_writer import EventWriter

SECONDS_BETWEEN_MEASUREMENTS = 2.0
STEPS_REMEMBERED = 20


class Telemetry:
    """Writes `ResourcesMeasured`. `planned_bytes` and `bound_bytes` are by category: promised, and really bound.

    The workspace of a CPU run includes the process itself; it is measured, as what is resident beside the arena.
    """

    def __init__(
        self, events: EventWriter, *, planned_bytes: Mapping[str, int], bound_bytes: Mapping[str, int]
    ) -> None:
        self._events = events
        self._planned = dict(planned_bytes)
        self._bound = dict(bound_bytes)
        self._process = psutil.Process()
        self._process.cpu_percent(None)  # the first call only sets the start of the interval
        self._next = time.monotonic()

    def measure(self) -> None:
        """Measure if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SECONDS_BETWEEN_MEASUREMENTS
        resident = self._process.memory_info().rss
        others = sum(size for category, size in self._bound.items() if category != "workspace")
        self._events.write(
            ResourcesMeasured(
                **self._events.stamp(),
                memory_bytes={**self._bound, "workspace": max(0, resident - others)},
                planned_bytes=self._planned,
                resident_bytes=resident,
                cpu_percent=self._process.cpu_percent(None),
            )
        )


class Clock:
    """Predicts when the run will be over, from the steps made lately and what stood between them."""

    def __init__(self) -> None:
        self._ends: deque[float] = deque([time.monotonic()], maxlen=STEPS_REMEMBERED + 1)

    def step_ended(self) -> None:
        """Note that a step, with whatever was done beside it, is over."""
        self._ends.append(time.monotonic())

    def waited(self, seconds: float) -> None:
        """Take a pause out of the measured time."""
        self._ends = deque((end + seconds for end in self._ends), maxlen=self._ends.maxlen)

    def remaining_seconds(self, steps: int) -> float | None:
        """Seconds for `steps` more steps, None before the first step."""
        made = len(self._ends) - 1
        if made == 0:
            return None
        return (self._ends[-1] - self._ends[0]) / made * steps
