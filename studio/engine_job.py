"""One engine command that is not a training run (export, generate, probe): started apart, its output read as it comes.

The process writes events as JSON lines to a log of its own, which is followed like a run's; whatever else a library
prints there is skipped. Nothing waits on a pipe, so nothing can block.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from engine.protocol.errors import Problem, SurroundingsError
from engine.protocol.events import KnownEvent, RunFailed, UnknownEvent, decode_event
from engine.protocol.heartbeat import start_ticks
from studio.runs.log_tail import last_lines
from studio.runs.process import Children, end_tree, start_detached
from studio.runs.tail import Position, read_new_lines

AnyEvent = KnownEvent | UnknownEvent


class EngineJob:
    """A running or ended engine command. `poll` and `wait` from one thread; `cancel` from any."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], log: Path, keep_log: bool = True
    ) -> None:
        """Start it. Raises SurroundingsError("engine.not_started")."""
        self.id = log.stem
        self.log = log
        self._keep_log = keep_log
        self._position = Position()
        self._children = Children()
        self._failure: Problem | None = None
        self._cancelled = False
        try:
            self._children.add(self.id, start_detached(command, environment=environment, log=log, folder=log.parent))
        except OSError as error:
            raise SurroundingsError(
                "engine.not_started", f"The engine could not be started: {error}.", "Look at `anneal doctor`."
            ) from error

    @property
    def is_running(self) -> bool:
        return self._children.is_running(self.id)

    @property
    def exit_code(self) -> int | None:
        return self._children.exit_code(self.id)

    @property
    def problem(self) -> Problem | None:
        """Why it failed; None while it runs and where it ended well. Call `poll` first."""
        code = self.exit_code
        if code in (None, 0):
            return None
        if self._cancelled:
            return Problem("engine.cancelled", "Cancelled.", severity="warning")
        if self._failure is not None:
            return self._failure
        lines = last_lines(self.log, 3)
        said = lines[-1] if lines else f"it ended with code {code} and said nothing"
        return Problem("engine.failed", f"The engine failed: {said}", arguments={"exit_code": code})

    def poll(self) -> list[AnyEvent]:
        """Events that came since the last call."""
        return [event for line in self.poll_lines() if (event := self._event(line)) is not None]

    def poll_lines(self) -> list[bytes]:
        """Whole lines that came since the last call."""
        lines: list[bytes] = []
        while True:
            reading = read_new_lines(self.log, self._position)
            self._position = reading.position
            lines += reading.lines
            if not reading.more:
                return lines

    def watch(self, on_event: Callable[[AnyEvent], None], *, poll_seconds: float = 0.05) -> None:
        """Give each event as it comes, until the process has ended, well or not."""
        while True:
            running = self.is_running
            for event in self.poll():
                on_event(event)
            if not running:
                return
            time.sleep(poll_seconds)

    def wait(self, on_event: Callable[[AnyEvent], None] = lambda event: None) -> None:
        """As `watch`, then raise SurroundingsError with the problem if it failed."""
        self.watch(on_event)
        self.raise_problem()

    def raise_problem(self) -> None:
        """Raise SurroundingsError where the process failed. Nothing where it ended well."""
        problem = self.problem
        if problem is not None:
            raise SurroundingsError(
                problem.code, problem.message, problem.remedy, where=problem.where, **problem.arguments
            )

    def cancel(self) -> None:
        """End the process and its descendants. Harmless when it has ended."""
        pid = self._children.pid(self.id)
        if pid is not None:
            self._cancelled = True
            end_tree(pid, start_ticks(pid), patience_seconds=2.0)

    def close(self) -> None:
        """Look no more. One that still runs goes on."""
        if not self._keep_log and not self.is_running:
            self.log.unlink(missing_ok=True)
        self._children.let_go()

    def _event(self, line: bytes) -> AnyEvent | None:
        if not line.startswith(b"{"):
            return None
        try:
            event = decode_event(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if isinstance(event, RunFailed):
            self._failure = event.problem
        return event


def new_log(folder: Path, kind: str) -> Path:
    """A log file that no other job has: `export-20261201T110203-3f2a.jsonl`."""
    return folder / f"{kind}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(2)}.jsonl"
