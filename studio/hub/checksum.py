"""Is this file what the Hub says it is? A large one is named by its SHA-256, a small one by the hash that git gives."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Protocol

_SHA256 = re.compile(r"[0-9a-f]{64}")
_GIT = re.compile(r"[0-9a-f]{40}")
_READ_BYTES = 1 << 20


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


def is_checkable(etag: str) -> bool:
    """Whether the name of a file is a hash of its content (a mirror may name it as it likes)."""
    return bool(_SHA256.fullmatch(etag) or _GIT.fullmatch(etag))


class Checksum:
    """The hash of a file that grows from its front. `position` is how many bytes went in."""

    def __init__(self, etag: str, size: int) -> None:
        self._etag = etag
        self._size = size
        self.restart()

    def restart(self) -> None:
        """Begin again at the first byte."""
        self.position = 0
        self._hash: _Hash = hashlib.sha256()
        if _GIT.fullmatch(self._etag):
            self._hash = hashlib.sha1(usedforsecurity=False)
            self._hash.update(b"blob %d\0" % self._size)

    def update(self, data: bytes) -> None:
        """Take the next bytes in."""
        self._hash.update(data)
        self.position += len(data)

    def catch_up(self, path: Path, length: int) -> None:
        """Take in the first `length` bytes of the file, as far as they are not yet."""
        if self.position > length:
            self.restart()
        with path.open("rb") as file:
            file.seek(self.position)
            while self.position < length:
                data = file.read(min(_READ_BYTES, length - self.position))
                if not data:
                    raise OSError(f"{path} is shorter than it was")
                self.update(data)

    def holds(self) -> bool:
        """Whether everything went in and is what the name says; a name that is no hash is believed."""
        return self.position == self._size and (not is_checkable(self._etag) or self._hash.hexdigest() == self._etag)
