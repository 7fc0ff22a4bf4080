"""What a legal schedule is. Every refusal names the program, the number of the instruction and the tensor.

Checked: aliases, and that parameters fill the tensors they share; each op's rule on the concrete types; what is
overwritten and whether the op permits it; transient tensors stay within one program; every read after its write, every
write after the last reads of that memory, across streams, by the waits that are there. With offsets, memory means
bytes: overlaps of live tensors are caught too.
"""

from __future__ import annotations

from itertools import pairwise

from engine.graph.catalogue import CATALOGUE, Catalogue, spec_of
from engine.graph.costs import operand_type
from engine.graph.errors import GraphError
from engine.graph.opspec import OpSpec
from engine.graph.ordering import Offsets, accesses, dependencies, describe, happens_before
from engine.graph.schedule import Instruction, Program, Schedule, Tensor


def verify_schedule(schedule: Schedule, offsets: Offsets | None = None, catalogue: Catalogue = CATALOGUE) -> None:
    """GraphError for the first thing that is not legal. `offsets`: of all tensors that own memory."""
    _check_aliases(schedule)
    _check_parameters(schedule)
    _check_programs_apart(schedule)
    if offsets is not None:
        _check_persistent_apart(schedule, offsets)
    for program in schedule.programs.values():
        for index, instruction in enumerate(program.instructions):
            _check_instruction(schedule, program, index, instruction, catalogue)
        _check_order(schedule, program, offsets)


def _check_aliases(schedule: Schedule) -> None:
    for tensor in schedule.tensors.values():
        if tensor.alias_of is None:
            continue
        base = schedule.tensors.get(tensor.alias_of)
        if base is None or base.alias_of is not None or base.storage != tensor.storage or not _is_range(tensor, base):
            raise GraphError("graph.bad_alias", f"tensor '{tensor.name}' cannot be an alias of '{tensor.alias_of}'")


def _is_range(tensor: Tensor, base: Tensor) -> bool:
    """All of `base` under another shape, or whole rows of it."""
    start, end = tensor.alias_offset, tensor.alias_offset + tensor.bytes
    if (start, end) == (0, base.bytes):
        return True
    row_bytes = base.bytes // base.shape[0] if base.shape and base.bytes else 1
    whole_rows = start % row_bytes == 0 and tensor.shape[1:] == base.shape[1:] and tensor.dtype is base.dtype
    return whole_rows and start >= 0 and end <= base.bytes


def _check_parameters(schedule: Schedule) -> None:
    """The parameters that share a grouped tensor fill it, row after row, each row belonging to exactly one."""
    parts: dict[str, list[Tensor]] = {}
    for slots in schedule.parameters:
        kept = (slots.weight, slots.master, slots.first_moment, slots.second_moment, *slots.gradients)
        for name in dict.fromkeys(each for each in kept if each is not None):
            parts.setdefault(schedule.tensors[name].root, []).append(schedule.tensors[name])
    for root, tensors in parts.items():
        end = 0
        for tensor in sorted(tensors, key=lambda each: (each.alias_offset, each.name)):
            if tensor.alias_offset != end:
                raise GraphError(
                    "graph.bad_alias",
                    f"tensor '{tensor.name}' begins at byte {tensor.alias_offset} of '{root}', not at {end}",
                )
            end += tensor.bytes
        if end != schedule.tensors[root].bytes:
            raise GraphError("graph.bad_alias", f"the parameters in '{root}' fill {end} of its bytes")


def _check_programs_apart(schedule: Schedule) -> None:
    owner: dict[str, str] = {}
    for program in schedule.programs.values():
        for index, instruction in enumerate(program.instructions):
            for name in instruction.touched():
                if name not in schedule.tensors:
                    raise GraphError(
                        "graph.unknown_tensor", f"{describe(program, index)}: tensor '{name}' does not exist"
                    )
                root = schedule.tensors[schedule.tensors[name].root]
                if not root.storage.is_persistent and owner.setdefault(root.name, program.name) != program.name:
                    raise GraphError(
                        "graph.crosses_programs",
                        f"{describe(program, index)}: transient tensor '{root.name}' belongs to program "
                        f"'{owner[root.name]}'",
                    )


def _check_instruction(
    schedule: Schedule, program: Program, index: int, instruction: Instruction, catalogue: Catalogue
) -> None:
    where = describe(program, index)
    spec = spec_of(instruction.op, catalogue)
    types = tuple(operand_type(schedule, name) for name in instruction.inputs)
    try:
        call = spec.call(types, instruction.attributes)
        expected = spec.infer(call)
    except GraphError as error:
        raise GraphError(error.code, f"{where}: {error.message}") from error
    found = tuple(operand_type(schedule, name) for name in instruction.outputs)
    if found != expected:
        names = ", ".join(str(each) for each in expected)
        raise GraphError(
            "graph.bad_type", f"{where}: results are {[str(each) for each in found]}, the rule says {names}"
        )
    needed = spec.workspace(call).evaluate({})
    given = schedule.tensors[instruction.workspace].bytes if instruction.workspace else 0
    if given < needed:
        raise GraphError("graph.no_workspace", f"{where}: has a workspace of {given} bytes, but needs {needed}")
    _check_overwriting(schedule, where, instruction, spec)


def _check_overwriting(schedule: Schedule, where: str, instruction: Instruction, spec: OpSpec) -> None:
    roots = [schedule.tensors[name].root for name in instruction.inputs]
    for result, name in enumerate(instruction.outputs):
        root = schedule.tensors[name].root
        shared = {operand for operand, other in enumerate(roots) if other == root}
        if result in spec.updates:
            if shared != {spec.updates[result]}:
                operand = instruction.inputs[spec.updates[result]]
                raise GraphError(
                    "graph.bad_update", f"{where}: must overwrite '{operand}' and nothing else, not '{name}'"
                )
        elif shared and not (result == 0 and shared <= set(spec.may_overwrite)):
            raise GraphError("graph.bad_update", f"{where}: may not overwrite its operand '{name}'")
    if len({schedule.tensors[name].root for name in instruction.outputs}) != len(instruction.outputs):
        raise GraphError("graph.bad_update", f"{where}: two results share the same memory")


def _check_order(schedule: Schedule, program: Program, offsets: Offsets | None) -> None:
    needed = dependencies(schedule, program, offsets)
    finished = happens_before(program)
    if offsets is not None:
        _check_apart(schedule, program, offsets)
    for index, before in enumerate(needed):
        for other in before:
            if finished[index].get(program.instructions[other].stream, -1) < other:
                raise GraphError(
                    "graph.missing_wait",
                    f"{describe(program, index)}: must wait for {describe(program, other)} and does not",
                )


def _check_persistent_apart(schedule: Schedule, offsets: Offsets) -> None:
    """The memory of a persistent tensor is its own, in all programs."""
    end_of_any, end_of_persistent = ("", 0), ("", 0)
    owners = [schedule.tensors[name] for name in offsets if schedule.tensors[name].bytes]
    for tensor in sorted(owners, key=lambda each: offsets[each.name]):
        start = offsets[tensor.name]
        other, end = end_of_any if tensor.storage.is_persistent else end_of_persistent
        if start < end:
            raise GraphError("graph.memory_taken", f"tensors '{other}' and '{tensor.name}' overlap in memory")
        end_of_any = max(end_of_any, (tensor.name, start + tensor.bytes), key=lambda each: each[1])
        if tensor.storage.is_persistent:
            end_of_persistent = (tensor.name, start + tensor.bytes)


def _check_apart(schedule: Schedule, program: Program, offsets: Offsets) -> None:
    """The operands and results of one call never overlap, unless they are the same tensor."""
    for index, instruction in enumerate(program.instructions):
        read, written = accesses(instruction, schedule)
        spans = sorted((offsets[name], schedule.tensors[name].bytes, name) for name in read | written)
        for (start, length, name), (next_start, next_length, other) in pairwise(spans):
            if next_length and start + length > next_start:
                raise GraphError(
                    "graph.memory_taken", f"{describe(program, index)}: '{name}' and '{other}' overlap in memory"
                )
