"""A run's events and its engine's own output as lines of the log drawer, as they come."""

from __future__ import annotations

import threading

import msgspec

from studio.runs.tail import Position, read_new_lines
from ui.format import clock
from ui.services import Services
from ui.viewmodels.run_words import log_words
from ui.widgets.log_drawer import Kind, LogLine

_QUIET = ("ResourcesMeasured", "PhaseProgressed", "CommandAccepted")
_LEVELS: dict[str, tuple[str, Kind]] = {
    "StepCompleted": ("INFO", "step"),
    "EvaluationCompleted": ("EVAL", "evaluation"),
    "SampleGenerated": ("EVAL", "evaluation"),
    "WarningRaised": ("WARN", "problem"),
    "NonFiniteSeen": ("WARN", "problem"),
    "CommandRejected": ("WARN", "problem"),
    "CheckpointFailed": ("ERROR", "problem"),
    "RunFailed": ("ERROR", "problem"),
}


class RunLog:
    """Follows the two files of one run. Any thread; reads take turns."""

    def __init__(self, services: Services, run_id: str) -> None:
        self._services, self.run_id = services, run_id
        self._turn = threading.Lock()
        self._events, self._output = Position(), Position()

    def read(self) -> list[LogLine]:
        """What was written since the last read, oldest first."""
        with self._turn:
            folder = self._services.runs.folder(self.run_id)
            lines: list[LogLine] = []
            more = True
            while more:
                reading = read_new_lines(folder.events, self._events)
                self._events, more = reading.position, reading.more
                lines.extend(line for raw in reading.lines if (line := event_line(raw)) is not None)
            output = read_new_lines(folder.engine_log, self._output)
            self._output = output.position
            said = [raw.decode("utf-8", "backslashreplace").rstrip() for raw in output.lines]
            return lines + [LogLine(" " * 8, "OUT", "other", text) for text in said]


def event_line(raw: bytes) -> LogLine | None:
    """One line of events.jsonl in words; None for what only makes points, and for a torn line."""
    try:
        content = msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    name = str(content.get("event", ""))
    if name in _QUIET or "time_utc" not in content:
        return None
    level, kind = _LEVELS.get(name, ("INFO", "other"))
    return LogLine(clock(str(content["time_utc"]), seconds=True), level, kind, log_words(content))
