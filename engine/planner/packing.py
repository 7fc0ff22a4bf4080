"""Offsets for things that live for a while: lifetimes in, byte offsets out. Pure, no device.

Walk through time. At each moment give back what has died, then place what is born in the smallest gap that holds it,
or at the end. A training step is nearly a stack (saved values die in the reverse order of their birth), for which this
is close to the lower bound, the largest sum of bytes alive at once; `Packing` reports both so that a test can watch it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

ALIGNMENT = 256
"""Bytes. Tensor cores and wide loads want it; the same everywhere, so that a value lies alike wherever it lies."""


@dataclass(frozen=True)
class Span:
    """A thing of `size_bytes` alive from moment `first` to moment `last`, both included."""

    name: str
    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Packing:
    """`total_bytes` is the end of the highest thing; `lower_bound_bytes` the most that is alive at one moment."""

    offsets: dict[str, int]
    total_bytes: int
    lower_bound_bytes: int


def aligned(size_bytes: int) -> int:
    """Rounded up to the alignment; nothing takes no room at all."""
    return max(ALIGNMENT, -(-size_bytes // ALIGNMENT) * ALIGNMENT)


def pack(spans: Iterable[Span]) -> Packing:
    """Place every span so that no two overlap in both time and bytes."""
    born: dict[int, list[Span]] = defaultdict(list)
    dying: dict[int, list[Span]] = defaultdict(list)
    for span in spans:
        born[span.first].append(span)
        dying[span.last].append(span)
    offsets: dict[str, int] = {}
    gaps = _Gaps()
    alive = peak = 0
    for moment in sorted(born.keys() | dying.keys()):
        for span in sorted(born[moment], key=lambda s: (-s.size_bytes, s.name)):
            offsets[span.name] = gaps.take(aligned(span.size_bytes))
            alive += aligned(span.size_bytes)
        peak = max(peak, alive)
        for span in dying[moment]:
            gaps.give(offsets[span.name], aligned(span.size_bytes))
            alive -= aligned(span.size_bytes)
    return Packing(offsets, gaps.high_water, peak)


class _Gaps:
    """Free stretches below the high-water mark: by (size, start) for the best fit, by both ends for merging."""

    def __init__(self) -> None:
        self.high_water = 0
        self._by_size: list[tuple[int, int]] = []
        self._end_of: dict[int, int] = {}
        self._start_of: dict[int, int] = {}

    def take(self, size: int) -> int:
        index = bisect_left(self._by_size, (size, 0))
        if index < len(self._by_size):
            length, start = self._by_size[index]
            self._remove(start)
            if length > size:
                self._insert(start + size, start + length)
            return start
        start = self._start_of.get(self.high_water, self.high_water)
        if start < self.high_water:
            self._remove(start)
        self.high_water = start + size
        return start

    def give(self, start: int, size: int) -> None:
        end = start + size
        if end in self._end_of:
            following = self._end_of[end]
            self._remove(end)
            end = following
        if start in self._start_of:
            preceding = self._start_of[start]
            self._remove(preceding)
            start = preceding
        self._insert(start, end)

    def _insert(self, start: int, end: int) -> None:
        insort(self._by_size, (end - start, start))
        self._end_of[start] = end
        self._start_of[end] = start

    def _remove(self, start: int) -> None:
        end = self._end_of.pop(start)
        del self._start_of[end]
        del self._by_size[bisect_left(self._by_size, (end - start, start))]
