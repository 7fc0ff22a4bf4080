"""Writing files so that a kill at any moment leaves the old one or the new one, never half of either.

Every write, fsync and rename that must survive a kill goes through the three functions of `Disk`. Tests replace the
disk in use (`use_disk`) by one that fails or kills the process at the n-th call; there is no other seam.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class Disk:
    """The three operations whose order makes a file safe."""

    def write(self, file: IO[bytes], data: bytes | memoryview) -> None:
        """Write all of `data` to an open binary file and flush Python's buffer."""
        file.write(data)
        file.flush()

    def sync(self, file: IO[bytes]) -> None:
        """Make the file's bytes durable."""
        os.fsync(file.fileno())

    def replace(self, source: Path, target: Path) -> None:
        """Rename `source` over `target`, atomically where both are on one filesystem."""
        source.replace(target)


_disk = Disk()


def disk() -> Disk:
    """The disk in use."""
    return _disk


@contextlib.contextmanager
def use_disk(replacement: Disk) -> Iterator[None]:
    """Use another disk inside the block (tests of faults and kills)."""
    global _disk
    before, _disk = _disk, replacement
    try:
        yield
    finally:
        _disk = before


def temporary_beside(path: Path) -> Path:
    """A name in the same folder (so the same filesystem) that marks itself as unfinished."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def write_atomically(path: Path, data: bytes | str) -> None:
    """Put `data` (text as UTF-8) at `path`: written beside it, synced, renamed. Raises OSError."""
    raw = data.encode() if isinstance(data, str) else data
    temporary = temporary_beside(path)
    try:
        with temporary.open("wb") as file:
            disk().write(file, raw)
            disk().sync(file)
        disk().replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def rename_folder(source: Path, target: Path) -> None:
    """Give a finished folder its final name. `target` must not exist or be an empty folder."""
    if target.is_dir():
        target.rmdir()
    disk().replace(source, target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` durable (POSIX; Windows does so by itself)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
