"""Offsets for a schedule in tests of the floors below the planner's plan: persistent tensors first, transients packed."""

from __future__ import annotations

from engine.graph.schedule import Schedule
from engine.planner.packing import Span, aligned, pack
from engine.runtime.liveness import lifetimes


def place(schedule: Schedule) -> tuple[dict[str, int], int]:
    """(offset by tensor that owns memory, bytes of the whole arena): every program reuses one transient region."""
    offsets: dict[str, int] = {}
    end = 0
    for tensor in schedule.tensors.values():
        if tensor.storage.is_persistent and tensor.alias_of is None:
            offsets[tensor.name] = end
            end += aligned(tensor.bytes)
    highest = end
    for program in schedule.programs.values():
        spans = lifetimes(schedule, program).items()
        packing = pack(Span(name, schedule.tensors[name].bytes, first, last) for name, (first, last) in spans)
        offsets |= {name: end + offset for name, offset in packing.offsets.items()}
        highest = max(highest, end + packing.total_bytes)
    return offsets, highest
