"""Which instructions must come after which, and which do: the facts behind waits and their verification.

Two instructions conflict when they touch the same memory and one of them writes. Without offsets memory is the tensor
(aliases count as one); with offsets it is bytes, so the reuse of an arena region is a conflict too.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.graph.errors import GraphError
from engine.graph.schedule import Instruction, Program, Schedule

Offsets = Mapping[str, int]  # tensor that owns memory → byte offset in its arena


def accesses(instruction: Instruction, schedule: Schedule) -> tuple[frozenset[str], frozenset[str]]:
    """(read, written): the tensors that own the memory which a call reads and writes."""
    roots = schedule.tensors
    read = frozenset(roots[name].root for name in instruction.inputs)
    written = {roots[name].root for name in instruction.outputs}
    if instruction.workspace:
        written.add(roots[instruction.workspace].root)
    return read, frozenset(written)


def dependencies(schedule: Schedule, program: Program, offsets: Offsets | None = None) -> tuple[frozenset[int], ...]:
    """For each instruction the earlier ones that must have finished before it starts.

    GraphError where an instruction reads a transient tensor that nothing has written, or whose memory another tensor
    has taken since.
    """
    neighbours = _neighbours(schedule, program, offsets)
    last_write: dict[str, int] = {}
    reads: dict[str, list[int]] = {}
    lost: dict[str, int] = {}  # tensor → the instruction that took its memory
    result = []
    for index, instruction in enumerate(program.instructions):
        read, written = accesses(instruction, schedule)
        before: set[int] = set()
        for name in read:
            _check_readable(schedule, program, index, name, last_write, lost)
            if name in last_write:
                before.add(last_write[name])
        for name in written:
            for other in neighbours[name]:
                before.update(reads.get(other, ()))
                if other in last_write:
                    before.add(last_write[other])
        for name in written:
            for other in neighbours[name]:
                if other != name:
                    lost[other] = index
        for name in written:
            lost.pop(name, None)
            last_write[name] = index
            reads[name] = []
        for name in read - written:
            reads.setdefault(name, []).append(index)
        before.discard(index)
        result.append(frozenset(before))
    return tuple(result)


def happens_before(program: Program) -> tuple[dict[int, int], ...]:
    """For each instruction: stream → index of the latest instruction there that has surely finished before it.

    GraphError for a wait on a later instruction, which would never end.
    """
    clocks: list[dict[int, int]] = []
    latest: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        clock: dict[int, int] = {}
        previous = latest.get(instruction.stream)
        for other in (*instruction.waits, *(() if previous is None else (previous,))):
            if not 0 <= other < index:
                raise GraphError(
                    "graph.bad_wait", f"{describe(program, index)}: waits for instruction {other}, which is not earlier"
                )
            for stream, seen in clocks[other].items():
                clock[stream] = max(clock.get(stream, -1), seen)
            stream = program.instructions[other].stream
            clock[stream] = max(clock.get(stream, -1), other)
        clocks.append(clock)
        latest[instruction.stream] = index
    return tuple(clocks)


def describe(program: Program, index: int) -> str:
    """How messages call an instruction."""
    instruction = program.instructions[index]
    result = f" '{instruction.outputs[0]}'" if instruction.outputs else ""
    return f"{program.name}[{index}] {instruction.op}{result}"


def offset_of(offsets: Offsets, name: str) -> int:
    """A tensor's place; GraphError where it has none."""
    if name not in offsets:
        raise GraphError("graph.no_offset", f"tensor '{name}' has no place in the arena")
    return offsets[name]


def _check_readable(
    schedule: Schedule, program: Program, index: int, name: str, last_write: Mapping[str, int], lost: Mapping[str, int]
) -> None:
    if name in lost:
        taker = describe(program, lost[name])
        raise GraphError(
            "graph.memory_taken", f"{describe(program, index)}: reads '{name}', whose memory {taker} has overwritten"
        )
    if name not in last_write and not schedule.tensors[name].storage.is_persistent:
        raise GraphError("graph.read_before_write", f"{describe(program, index)}: reads '{name}' before it is written")


def _neighbours(schedule: Schedule, program: Program, offsets: Offsets | None) -> dict[str, tuple[str, ...]]:
    """Each tensor of the program → all that share bytes with it, itself included."""
    names = {name for each in program.instructions for name in (n for part in accesses(each, schedule) for n in part)}
    if offsets is None:
        return {name: (name,) for name in names}
    found: dict[str, list[str]] = {name: [name] for name in names}
    active: list[str] = []
    for name in sorted(names, key=lambda each: (offset_of(offsets, each), each)):
        active = [other for other in active if offsets[other] + schedule.tensors[other].bytes > offsets[name]]
        if schedule.tensors[name].bytes:
            for other in active:
                found[name].append(other)
                found[other].append(name)
            active.append(name)
    return {name: tuple(others) for name, others in found.items()}
