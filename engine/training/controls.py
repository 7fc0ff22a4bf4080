"""What a person has asked of this run so far, and the termination signal, which means the same as "stop".

The loop looks here between steps, and phases before the first step look here as they go; nothing is interrupted in the
middle of a step.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import assert_never

from engine.protocol.commands import KnownCommand, PauseRun, SaveCheckpoint, StopRun, UnpauseRun
from engine.protocol.errors import Problem


@dataclass
class Controls:
    """The wishes that are open."""

    paused: bool = False
    checkpoint_wanted: bool = False
    stop_reason: str | None = None
    save_at_stop: bool = True
    closed: bool = False

    def handle(self, command: KnownCommand) -> Problem | None:
        """Note a command's wish. Returns the problem where it makes no sense now. Stopping twice is harmless."""
        if self.closed:
            return Problem("run_is_over", "The run has ended already.", "Resume it first.")
        match command:
            case StopRun():
                self.stop_reason = self.stop_reason or "asked"
                self.save_at_stop = self.save_at_stop and command.save
            case PauseRun():
                if self.paused:
                    return Problem("already_paused", "The run is paused already.")
                self.paused = True
            case UnpauseRun():
                if not self.paused:
                    return Problem("not_paused", "The run is not paused.")
                self.paused = False
            case SaveCheckpoint():
                self.checkpoint_wanted = True
            case _:
                assert_never(command)
        return None


@contextmanager
def termination_stops(controls: Controls) -> Iterator[None]:
    """Inside the block SIGTERM and SIGINT ask for stop-and-save instead of ending the process. Main thread only."""

    def ask_to_stop(signum: int, frame: FrameType | None) -> None:
        controls.stop_reason = controls.stop_reason or "terminated"

    kinds = [signal.SIGTERM, signal.SIGINT]
    before = [signal.signal(kind, ask_to_stop) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
