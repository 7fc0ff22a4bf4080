"""Following a file that another process appends to: by size and offset, in binary, whole lines only.

A torn last line (the writer is in the middle of it, or was killed there) is left for later. A file that shrank, or that
is another file under the same name, is read again from its beginning.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_HEAD_BYTES = 256
_CHUNK_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Position:
    """How far a file has been read. `head` is a digest of its first `head_bytes` bytes: a fingerprint."""

    identity: str = ""
    offset: int = 0
    head: str = ""
    head_bytes: int = 0


@dataclass(frozen=True)
class Reading:
    """`lines` without their newline. `restarted`: what was read before is void, these lines are from the beginning.
    `more`: the file holds more than one reading takes; read again."""

    lines: list[bytes]
    position: Position
    restarted: bool = False
    more: bool = False


def read_new_lines(path: Path, position: Position) -> Reading:
    """What was appended since `position`. A missing file has no lines and keeps the position. Raises OSError."""
    if _is_unchanged(path, position):
        return Reading([], position)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return Reading([], position)
    with file:
        stat = os.fstat(file.fileno())
        identity = _identity(stat)
        restarted = position.offset > 0 and not (
            identity == position.identity
            and stat.st_size >= position.offset
            and _digest(file, position.head_bytes) == position.head
        )
        start = 0 if restarted else position.offset
        file.seek(start)
        raw = file.read(_CHUNK_BYTES)
        if b"\n" not in raw and len(raw) == _CHUNK_BYTES:
            raw += file.readline()  # one line longer than a reading
        taken = raw.rfind(b"\n") + 1
        end = start + taken
        head_bytes = min(_HEAD_BYTES, end)
        lines = [line for line in raw[:taken].split(b"\n") if line.strip()]
        after = Position(identity, end, _digest(file, head_bytes), head_bytes)
        return Reading(lines, after, restarted, more=stat.st_size - end > len(raw) - taken)


def _is_unchanged(path: Path, position: Position) -> bool:
    """Without opening it: a refresh asks this of every file of every run."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return True
    return _identity(stat) == position.identity and stat.st_size == position.offset


def _identity(stat: os.stat_result) -> str:
    return f"{stat.st_dev}:{stat.st_ino}"


def _digest(file: IO[bytes], count: int) -> str:
    file.seek(0)
    return hashlib.blake2b(file.read(count), digest_size=16).hexdigest()
