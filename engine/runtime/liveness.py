"""The check that no two live tensors share a byte, made at binding.

The offsets come from a plan, which may have been edited, damaged, or made for another schedule: a wrong one is an error
with two names in it and never a wrong number.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from engine.graph.lifetimes import lifetimes
from engine.graph.schedule import Schedule, Tensor
from engine.protocol.errors import Bug

REMEDY = "This is a fault of the planner or of an edited plan.json; plan the run again."
Region = tuple[int, int, str]


def deaths(schedule: Schedule, program: str) -> dict[int, list[str]]:
    """Instruction → the transient tensors that nobody touches after it."""
    result: dict[int, list[str]] = defaultdict(list)
    for each in lifetimes(schedule, program):
        result[each.last].append(each.tensor)
    return result


def verify_placement(schedule: Schedule, offsets: Mapping[str, int], arena_bytes: int) -> None:
    """Bug naming the tensors when one is unplaced or out of the arena, or two share a byte while both are alive."""
    persistent = list(_persistent_regions(schedule, offsets))
    for program in schedule.programs.values():
        live = _Occupied(program.name)
        for region in persistent:
            live.add(region)
        births: dict[int, list[str]] = defaultdict(list)
        for each in lifetimes(schedule, program.name):
            births[each.first].append(each.tensor)
        dying = deaths(schedule, program.name)
        for index in range(len(program.instructions)):
            for name in births.get(index, ()):
                live.add(_region(schedule.tensors[name], offsets))
            for name in dying.get(index, ()):
                live.remove(_region(schedule.tensors[name], offsets))
    _verify_inside((_region(t, offsets) for t in schedule.tensors.values() if t.root in offsets), arena_bytes)


def _region(tensor: Tensor, offsets: Mapping[str, int]) -> Region:
    if tensor.root not in offsets:
        raise Bug("arena_unplaced", f"Tensor '{tensor.name}' has no place in the plan.", REMEDY)
    start = offsets[tensor.root] + tensor.alias_offset
    return start, start + tensor.bytes, tensor.name


def _persistent_regions(schedule: Schedule, offsets: Mapping[str, int]) -> Iterator[Region]:
    for tensor in schedule.tensors.values():
        if tensor.storage.is_persistent and tensor.alias_of is None:
            yield _region(tensor, offsets)


def _verify_inside(regions: Iterable[Region], arena_bytes: int) -> None:
    for start, end, name in regions:
        if start < 0 or end > arena_bytes:
            raise Bug(
                "arena_outside",
                f"Tensor '{name}' lies at bytes {start:,}…{end:,}, outside the arena of {arena_bytes:,} bytes.",
                REMEDY,
            )


class _Occupied:
    """Disjoint byte ranges in order; adding one that shares a byte with another is refused by name."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._regions: list[Region] = []

    def add(self, region: Region) -> None:
        start, end, name = region
        if start == end:
            return
        place = bisect_left(self._regions, region)
        for other in self._regions[max(0, place - 1) : place + 1]:
            if other[0] < end and start < other[1]:
                raise Bug(
                    "arena_overlap",
                    f"In program '{self._program}', '{name}' (bytes {start:,}…{end:,}) and '{other[2]}' "
                    f"(bytes {other[0]:,}…{other[1]:,}) are alive at the same time and share memory.",
                    REMEDY,
                )
        insort(self._regions, region)

    def remove(self, region: Region) -> None:
        if region[0] != region[1]:
            del self._regions[bisect_left(self._regions, region)]
