"""What a dataset is, apart from where it lies: the hash of its files' contents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from engine.data.reading import Listing

Progress = Callable[[str, int, int, str], None]
"""(phase, done, total, unit); total 0 is unknown."""

BLOCK_BYTES = 1 << 20


class ContentHashes:
    """Hashes of files, remembered while size, time and identity of a file stay, so that asking again is quick."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, int], str] = {}

    def listing(self, listing: Listing, progress: Progress) -> list[tuple[str, str]]:
        """(name, SHA-256) of each file, in reading order. Raises OSError."""
        total = sum(file.stat().st_size for file in listing.files)
        done = 0
        hashes = []
        for file in listing.files:
            hashes.append((listing.name(file), self.file(file, partial(_report, progress, done, total))))
            done += file.stat().st_size
            _report(progress, done, total, 0)
        return hashes

    def file(self, path: Path, on_bytes: Callable[[int], None]) -> str:
        """SHA-256 of one file's bytes; `on_bytes` hears how many have been read. Raises OSError."""
        status = path.stat()
        key = (str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino)
        if key not in self._known:
            self._known[key] = _sha256(path, on_bytes)
        return self._known[key]


def _report(progress: Progress, before: int, total: int, size: int) -> None:
    progress("reading", before + size, total, "bytes")


def _sha256(path: Path, on_bytes: Callable[[int], None]) -> str:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            size += len(block)
            if size % (64 * BLOCK_BYTES) < BLOCK_BYTES:
                on_bytes(size)
    return digest.hexdigest()
