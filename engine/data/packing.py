"""Documents into blocks of one length: whole, none twice, in an order that depends on nothing but their lengths."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]

OPEN_BLOCKS = 64
"""How many blocks are held open to find a document its best place; more pack better and mix the order more."""


@dataclass(frozen=True)
class Blocks:
    """Block b holds the documents `documents[starts[b]:starts[b + 1]]`, in that order. Both i64."""

    documents: Indices
    starts: Indices

    @property
    def count(self) -> int:
        """Number of blocks."""
        return int(self.starts.size) - 1

    @property
    def largest(self) -> int:
        """Most documents in a block (0 without blocks)."""
        return int(np.diff(self.starts).max()) if self.count else 0


def pack(lengths: Indices, block_length: int) -> Blocks:
    """Best fit: each document, in order, goes to the open block that it fills most; the fullest makes way for a new.

    No length may exceed `block_length`. No document is split, lost or doubled.
    """
    open_room: list[tuple[int, int]] = []  # (room left, block), sorted: the first that is large enough fits best
    blocks: list[list[int]] = []
    for document, length in enumerate(lengths.tolist()):
        place = bisect_left(open_room, (length, -1))
        if place < len(open_room):
            room, block = open_room.pop(place)
        else:
            room, block = block_length, len(blocks)
            blocks.append([])
        blocks[block].append(document)
        if room - length >= 2:  # a document has at least two tokens
            insort(open_room, (room - length, block))
            if len(open_room) > OPEN_BLOCKS:
                open_room.pop(0)
    return _blocks(blocks)


def one_each(count: int) -> Blocks:
    """Unpacked: a block for every document."""
    return Blocks(np.arange(count, dtype=np.int64), np.arange(count + 1, dtype=np.int64))


def _blocks(blocks: list[list[int]]) -> Blocks:
    starts = np.zeros(len(blocks) + 1, np.int64)
    np.cumsum([len(block) for block in blocks], out=starts[1:])
    return Blocks(np.array([document for block in blocks for document in block], np.int64), starts)
