"""Is an engine at work on a run? The lock on `engine.lock` says so; around a launch, the process itself does."""

from __future__ import annotations

import time
from typing import Protocol

import psutil

from engine.protocol import heartbeat, lock
from engine.protocol.folder import RunFolder
from studio.machine.limits import kills_for_memory
from studio.runs.process import Children

LAUNCH_SECONDS = 120.0
"""How long a launch that another process made may take until its engine holds the lock."""


class Liveness(Protocol):
    """What reconciling asks."""

    def is_alive(self, folder: RunFolder) -> bool: ...

    def exit_code(self, folder: RunFolder) -> int | None: ...

    def was_out_of_memory(self, folder: RunFolder) -> bool: ...


class EngineLiveness:
    """Knows the engines that this process launched, and asks the locks of all others."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._kills_before: dict[str, int] = {}

    def launched(self, folder: RunFolder) -> None:
        """Remember how often the kernel has killed for memory so far."""
        self._kills_before[folder.id] = kills_for_memory()

    def is_alive(self, folder: RunFolder) -> bool:
        """Whether an engine works on the run, or may be about to."""
        if is_elsewhere(folder):
            return True  # its lock cannot be asked from here: what its events say is all that is known
        return self._children.is_running(folder.id) or lock.is_held(folder.engine_lock) or self._is_young(folder)

    def exit_code(self, folder: RunFolder) -> int | None:
        """Of an engine that this process launched and that has ended."""
        return self._children.exit_code(folder.id)

    def was_out_of_memory(self, folder: RunFolder) -> bool:
        """Whether it was killed, and the kernel has killed for memory in our control group since its launch."""
        code, before = self.exit_code(folder), self._kills_before.get(folder.id)
        return code == -9 and before is not None and kills_for_memory() > before

    def _is_young(self, folder: RunFolder) -> bool:
        """A launch by another process (a window and a command line may work side by side) that has said nothing yet."""
        if folder.heartbeat.exists() or self._children.exit_code(folder.id) is not None:
            return False
        try:
            age = time.time() - folder.commands.stat().st_ctime
        except OSError:
            return False
        return 0 <= age < LAUNCH_SECONDS and folder.path.stat().st_ctime > psutil.boot_time()


def is_elsewhere(folder: RunFolder) -> bool:
    """Whether another host works, or worked, on the run: it is read-only here."""
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    return beat is not None and beat.host != heartbeat.host()
