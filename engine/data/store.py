"""The tokens of one dataset on disk: flat arrays, memory-mapped, written once and then only read.

A folder of the token cache, named by a hash of everything that decides a token:

    meta.json    what it was made from, and the reasons of the rows that are left out
    ids.bin      int32, all rows one after another        mask.bin   uint8, the same length: 1 where a token is learned
    rows.npy     one record a row read: where it ends, file, line, flags (see `issues`), learned tokens, content hash

It is written under another name and renamed when complete, so a kill leaves no half cache.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec
import numpy as np
import numpy.typing as npt

from engine.data.marking import TokenIds, TokenMask
from engine.protocol.files import disk, rename_folder, temporary_beside, write_atomically

REASONS_KEPT = 1_000
ROWS_A_CHUNK = 1 << 16
LEFT_OVER_SECONDS = 86_400

ROW_DTYPE = np.dtype(
    [("end", "<i8"), ("file", "<i4"), ("line", "<i8"), ("flags", "<u4"), ("trained", "<i4"), ("hash", "<u8", (2,))]
)


class StoreMeta(msgspec.Struct, frozen=True):
    """`reasons` by number of row; `files` by number of file. `splittable`: long rows may be cut into several."""

    recipe: dict[str, object]
    files: list[str]
    reasons: dict[int, str]
    format: str
    splittable: bool
    tokens: int


class TokenStore:
    """A finished store, opened for reading. `ids` i32[tokens], `mask` u8[tokens], `rows` one record a row."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError ValueError or msgspec.DecodeError where the folder is not a whole store."""
        self.meta = msgspec.json.decode((folder / "meta.json").read_bytes(), type=StoreMeta)
        self.rows: npt.NDArray[np.void] = np.load(folder / "rows.npy", mmap_mode="r")
        self.ids: TokenIds = np.empty(0, np.int32)
        self.mask: TokenMask = np.empty(0, np.uint8)
        if self.meta.tokens:  # an empty file cannot be mapped
            self.ids = np.memmap(folder / "ids.bin", np.int32, "r", shape=(self.meta.tokens,))
            self.mask = np.memmap(folder / "mask.bin", np.uint8, "r", shape=(self.meta.tokens,))
        ends = np.asarray(self.rows["end"], np.int64)
        self.starts: npt.NDArray[np.int64] = np.concatenate([[0], ends[:-1]]) if ends.size else ends
        self.lengths: npt.NDArray[np.int64] = ends - self.starts


def remove_left_overs(cache: Path) -> None:
    """Remove what killed writers left in the cache a day ago or longer."""
    for folder in cache.glob(".*.tmp"):
        if time.time() - folder.stat().st_mtime > LEFT_OVER_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


class StoreWriter:
    """Fills a store; leaving the block without `finish` removes what was written."""

    def __init__(self, folder: Path) -> None:
        self._target = folder
        self._folder = temporary_beside(folder)
        self._rows: list[tuple[int, int, int, int, int, tuple[int, int]]] = []
        self._packed_rows: list[npt.NDArray[np.void]] = []
        self._count = 0
        self._files: dict[str, int] = {}
        self._reasons: dict[int, str] = {}
        self._tokens = 0

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True)
        self._ids: IO[bytes] = (self._folder / "ids.bin").open("wb")
        self._mask: IO[bytes] = (self._folder / "mask.bin").open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ids.close()
        self._mask.close()
        if self._folder.exists():
            shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, file: str, line: int, flags: int, ids: TokenIds, mask: TokenMask) -> None:
        """A row that is trained on."""
        disk().write(self._ids, ids.astype("<i4", copy=False).tobytes())
        disk().write(self._mask, mask.tobytes())
        self._tokens += ids.size
        digest = hashlib.blake2b(ids.tobytes() + mask.tobytes(), digest_size=16).digest()
        halves = (int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little"))
        self._record(file, line, flags, int(mask[1:].sum()), halves)

    def add_left_out(self, file: str, line: int, flags: int, reason: str) -> None:
        """A row that is not."""
        if len(self._reasons) < REASONS_KEPT:
            self._reasons[self._count] = reason
        self._record(file, line, flags, 0, (0, 0))

    def _record(self, file: str, line: int, flags: int, trained: int, halves: tuple[int, int]) -> None:
        number = self._files.setdefault(file, len(self._files))
        self._rows.append((self._tokens, number, line, flags, trained, halves))
        self._count += 1
        if len(self._rows) >= ROWS_A_CHUNK:
            self._pack_rows()

    def _pack_rows(self) -> None:
        self._packed_rows.append(np.array(self._rows, ROW_DTYPE))
        self._rows = []

    def finish(self, recipe: dict[str, object], format_name: str, *, splittable: bool) -> TokenStore:
        """Complete the store, give it its name and open it. Raises OSError (no space left: nothing stays)."""
        for file in (self._ids, self._mask):
            disk().sync(file)
            file.close()
        with (self._folder / "rows.npy").open("wb") as file:
            self._pack_rows()
            np.save(file, np.concatenate(self._packed_rows))
            disk().sync(file)
        meta = StoreMeta(recipe, list(self._files), self._reasons, format_name, splittable, self._tokens)
        write_atomically(self._folder / "meta.json", msgspec.json.encode(meta))
        try:
            rename_folder(self._folder, self._target)
        except OSError:
            # Another process may have finished the same store first; then that one is as good.
            if not (self._target / "meta.json").is_file():
                raise
        return TokenStore(self._target)
