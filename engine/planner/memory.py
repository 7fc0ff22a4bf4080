"""Bytes by category, and the verdict on a machine. The sums are those of the layout, not estimates beside it."""

from __future__ import annotations

from collections import Counter

from engine.graph.rewrites.lora import is_adapter
from engine.graph.schedule import Schedule, Storage, Tensor
from engine.planner.layout import Layout
from engine.planner.machine import MachineSpec
from engine.planner.packing import aligned
from engine.protocol.plan import CATEGORIES, Budget, MemoryRow, Verdict

PROCESS_BYTES = 380 * 2**20
"""Resident memory of an engine process on a CPU beside its arena: Python, torch and its temporaries (engine README)."""

TOKENIZER_BYTES = 2048
"""The same for each entry of the vocabulary: a tokenizer of 49,152 takes 90 MB."""

TIGHT_SHARE = 0.10
"""Below this share of the usable memory left free, a plan is "tight"."""

_CATEGORY = {
    Storage.FROZEN: "weights",
    Storage.TRAINABLE: "weights",
    Storage.MASTER: "optimizer",
    Storage.OPTIMIZER_STATE: "optimizer",
    Storage.GRADIENT: "gradients",
    Storage.INPUT: "workspace",
    Storage.STATE: "workspace",
    Storage.TRANSIENT: "activations",
}


def category_of(tensor: Tensor) -> str:
    """One of `CATEGORIES`."""
    if tensor.storage is Storage.TRAINABLE and is_adapter(tensor.name):
        return "adapters"
    return _CATEGORY[tensor.storage]


def process_bytes(vocabulary: int) -> int:
    """Host memory of an engine process beside its arena."""
    return PROCESS_BYTES + TOKENIZER_BYTES * vocabulary


def memory_rows(schedule: Schedule, layout: Layout, vocabulary: int) -> tuple[MemoryRow, ...]:
    """Host bytes of a CPU run by category, in the order of `CATEGORIES`. Their sum: the arena and the process."""
    sums: Counter[str] = Counter({"activations": layout.transient_bytes, "workspace": process_bytes(vocabulary)})
    for tensor in schedule.tensors.values():
        if tensor.storage.is_persistent and tensor.alias_of is None:
            sums[category_of(tensor)] += aligned(tensor.bytes)
    return tuple(MemoryRow(category=c, device_bytes=0, host_bytes=sums[c]) for c in CATEGORIES)


def host_budget(rows: tuple[MemoryRow, ...], machine: MachineSpec) -> Budget:
    """The machine's memory against the plan."""
    planned = sum(row.host_bytes for row in rows)
    return Budget(
        memory="host",
        capacity_bytes=machine.memory_bytes,
        other_bytes=machine.other_bytes,
        planned_bytes=planned,
        verdict=verdict_of(planned, machine.memory_bytes - machine.other_bytes),
    )


def verdict_of(planned_bytes: int, usable_bytes: int) -> Verdict:
    """Fits with a tenth of the usable memory left, tight down to none, else does not fit."""
    free = usable_bytes - planned_bytes
    if free < 0:
        return "does_not_fit"
    return "tight" if free < TIGHT_SHARE * usable_bytes else "fits"
