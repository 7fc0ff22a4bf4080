"""How long a program takes, in closed form: each instruction at the slower of its arithmetic and its memory traffic.

The costs are the op specs' own, so the planner, the roofline and MFU use the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.catalogue import CATALOGUE, spec_of
from engine.graph.schedule import Instruction, Program, Schedule, Tensor
from engine.graph.types import tensor_type
from engine.planner.machine import MachineSpec


@dataclass(frozen=True)
class ProgramCost:
    """Sums over one run of a program."""

    flops: float
    bytes: float
    seconds: float


def program_cost(schedule: Schedule, program: Program, machine: MachineSpec) -> ProgramCost:
    """FLOPs, bytes and predicted seconds. Equal instructions (the same layer again) are costed once."""
    known: dict[object, tuple[float, float]] = {}
    flops = moved = seconds = 0.0
    for instruction in program.instructions:
        tensors = [schedule.tensors[name] for name in instruction.inputs]
        results = [schedule.tensors[name] for name in instruction.outputs]
        key = (instruction.op, *((t.shape, t.dtype) for t in (*tensors, *results)))
        if key not in known:
            known[key] = _instruction_cost(instruction, tensors, results)
        f, b = known[key]
        flops, moved = flops + f, moved + b
        seconds += max(f / machine.flops(), b / machine.bandwidth())
    return ProgramCost(flops, moved, seconds)


def _instruction_cost(instruction: Instruction, inputs: list[Tensor], results: list[Tensor]) -> tuple[float, float]:
    spec = spec_of(instruction.op, CATALOGUE)
    types = tuple(tensor_type(t.shape, t.dtype) for t in inputs)
    cost = spec.cost(spec.call(types, instruction.attributes), tuple(tensor_type(t.shape, t.dtype) for t in results))
    return float(cost.flops.evaluate({})), float(cost.bytes.evaluate({}))
