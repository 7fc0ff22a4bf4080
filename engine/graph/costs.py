"""What an instruction costs, from its op's rule: the numbers of planner, MFU and roofline alike."""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.catalogue import CATALOGUE, Catalogue, spec_of
from engine.graph.schedule import Instruction, Schedule
from engine.graph.types import TensorType, tensor_type


@dataclass(frozen=True, slots=True)
class InstructionCost:
    """Floating point operations, and bytes to and from memory."""

    flops: int
    bytes: int


def operand_type(schedule: Schedule, tensor: str) -> TensorType:
    """A tensor's type with numbers for sizes."""
    found = schedule.tensors[tensor]
    return tensor_type(found.shape, found.dtype)


def instruction_cost(schedule: Schedule, instruction: Instruction, catalogue: Catalogue = CATALOGUE) -> InstructionCost:
    """The cost of one call."""
    spec = spec_of(instruction.op, catalogue)
    call = spec.call(tuple(operand_type(schedule, name) for name in instruction.inputs), instruction.attributes)
    cost = spec.cost(call, tuple(operand_type(schedule, name) for name in instruction.outputs))
    return InstructionCost(cost.flops.evaluate({}), cost.bytes.evaluate({}))


def program_cost(schedule: Schedule, program: str, catalogue: Catalogue = CATALOGUE) -> InstructionCost:
    """The sum over a program."""
    costs = [instruction_cost(schedule, each, catalogue) for each in schedule.programs[program].instructions]
    return InstructionCost(sum(each.flops for each in costs), sum(each.bytes for each in costs))
