"""The engine's ear and pulse: polls commands, beats the heart, and ends what is going on when somebody asked to stop.

Everything that takes long calls `tick` as it goes: phases before the first step, each step, each evaluation batch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.protocol.codec import utc_now
from engine.protocol.events import RunPaused, RunUnpaused
from engine.protocol.heartbeat import Heartbeat, boot_id, host, start_ticks, write_heartbeat
from engine.training.command_reader import CommandReader
from engine.training.controls import Controls
from engine.training.event_writer import EventWriter

BEAT_SECONDS = 10.0
POLL_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 600.0


class StopRequested(Exception):
    """Somebody asked the run to end; `reason` is `asked`, `terminated` or `paused_too_long`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Watch:
    """One attempt's controls, with what keeps them up to date."""

    controls: Controls
    commands: CommandReader
    events: EventWriter
    heartbeat_path: Path
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS
    _next_beat: float = 0.0
    _next_poll: float = 0.0

    def tick(self) -> None:
        """Look for commands and beat the heart, each at most so often. Raises StopRequested."""
        now = time.monotonic()
        if now >= self._next_poll:
            self._next_poll = now + POLL_SECONDS
            self.commands.poll()
        if now >= self._next_beat:
            self._next_beat = now + BEAT_SECONDS
            self.beat()
        if self.controls.stop_reason is not None:
            raise StopRequested(self.controls.stop_reason)

    def beat(self) -> None:
        """Write who works on this run, and how far it is."""
        pid = os.getpid()
        beat = Heartbeat(
            host=host(),
            boot_id=boot_id(),
            pid=pid,
            start_ticks=start_ticks(pid),
            attempt=self.events.attempt,
            step=self.events.step,
            time_utc=utc_now(),
        )
        write_heartbeat(self.heartbeat_path, beat)

    def wait_while_paused(self, save: Callable[[], None]) -> float:
        """Stay here while paused, between steps; `save` is called where a checkpoint is asked for meanwhile.

        Gives the seconds spent. Raises StopRequested, also when the pause has lasted too long.
        """
        if not self.controls.paused:
            return 0.0
        began = time.monotonic()
        self.events.write(RunPaused(**self.events.stamp()))
        while self.controls.paused:
            if time.monotonic() - began > self.longest_pause_seconds:
                raise StopRequested("paused_too_long")
            time.sleep(POLL_SECONDS)
            self.tick()
            if self.controls.checkpoint_wanted:
                self.controls.checkpoint_wanted = False
                save()
        self.events.write(RunUnpaused(**self.events.stamp()))
        return time.monotonic() - began

    def close(self) -> None:
        """The run is over: answer what was asked too late."""
        self.controls.closed = True
        self.commands.poll()
