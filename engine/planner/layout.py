"""Where every tensor of a schedule lies: one arena, a persistent region first, then a transient region.

The programs share the transient region (only one runs at a time), so it is as large as the largest of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.graph.schedule import Program, Schedule, Storage
from engine.planner.packing import Packing, Span, aligned, pack


@dataclass(frozen=True)
class Layout:
    """Bytes. `offsets` has every tensor that owns memory; `programs` the transient bytes of each program."""

    offsets: Mapping[str, int]
    persistent_bytes: int
    programs: Mapping[str, Packing]

    @property
    def transient_bytes(self) -> int:
        return max((packing.total_bytes for packing in self.programs.values()), default=0)

    @property
    def arena_bytes(self) -> int:
        return self.persistent_bytes + self.transient_bytes


def lay_out(schedule: Schedule) -> Layout:
    """Offsets for all tensors. The same schedule gives the same layout."""
    offsets: dict[str, int] = {}
    end = 0
    for tensor in schedule.tensors.values():
        if tensor.storage.is_persistent and tensor.alias_of is None:
            offsets[tensor.name] = end
            end += aligned(tensor.bytes)
    packings = {program.name: pack(spans_of(schedule, program)) for program in schedule.programs.values()}
    for packing in packings.values():
        offsets.update({name: end + offset for name, offset in packing.offsets.items()})
    return Layout(offsets, end, packings)


def spans_of(schedule: Schedule, program: Program) -> list[Span]:
    """The life of each transient tensor of a program: from the first to the last instruction that touches it."""
    lives: dict[str, tuple[int, int]] = {}
    for index, instruction in enumerate(program.instructions):
        for name in instruction.touched():
            root = schedule.tensors[name].root
            if schedule.tensors[root].storage is Storage.TRANSIENT:
                first, _ = lives.get(root, (index, index))
                lives[root] = (first, index)
    return [Span(name, schedule.tensors[name].bytes, first, last) for name, (first, last) in lives.items()]
