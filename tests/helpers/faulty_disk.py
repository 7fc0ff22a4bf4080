"""A disk that does something at its n-th write, fsync or rename, just before: fails, dies, kills the process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from engine.protocol.files import Disk


def no_space() -> None:
    """What a full disk says."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FaultyDisk(Disk):
    """Calls `fault` at operation `moment`, counted from 1, and at every later one too where `stays`. 0: only counts."""

    def __init__(self, moment: int, fault: Callable[[], object] = no_space, *, stays: bool = False) -> None:
        self.moment = moment
        self.calls = 0
        self._fault = fault
        self._stays = stays

    def write(self, file: IO[bytes], data: bytes | memoryview) -> None:
        self._count()
        super().write(file, data)

    def sync(self, file: IO[bytes]) -> None:
        self._count()
        super().sync(file)

    def replace(self, source: Path, target: Path) -> None:
        self._count()
        super().replace(source, target)

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.moment or (self._stays and 0 < self.moment <= self.calls):
            self._fault()
