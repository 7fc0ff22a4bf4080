"""When each transient tensor of a program is needed: the first and the last instruction that touches it.

Persistent tensors live always and are not listed. Aliases count for the tensor that owns the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A transient tensor needs its `bytes` from instruction `first` to instruction `last`, both included."""

    tensor: str
    bytes: int
    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether some instruction needs both."""
        return self.first <= other.last and other.first <= self.last


def lifetimes(schedule: Schedule, program: str) -> tuple[Lifetime, ...]:
    """The lifetimes of a program's transient tensors, in order of first use."""
    spans: dict[str, tuple[int, int]] = {}
    for index, instruction in enumerate(schedule.programs[program].instructions):
        for name in instruction.touched():
            tensor = schedule.tensors[schedule.tensors[name].root]
            if not tensor.storage.is_persistent:
                first, _ = spans.get(tensor.name, (index, index))
                spans[tensor.name] = (first, index)
    return tuple(Lifetime(name, schedule.tensors[name].bytes, first, last) for name, (first, last) in spans.items())


def live_bytes(schedule: Schedule, program: str) -> tuple[int, ...]:
    """Bytes of transient tensors that each instruction needs at once: no arena can be smaller than the largest."""
    changes = [0] * (len(schedule.programs[program].instructions) + 1)
    for each in lifetimes(schedule, program):
        changes[each.first] += each.bytes
        changes[each.last + 1] -= each.bytes
    total = 0
    result = []
    for change in changes[:-1]:
        total += change
        result.append(total)
    return tuple(result)
