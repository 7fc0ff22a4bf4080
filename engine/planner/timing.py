"""How long a program takes, in closed form: each instruction at the slower of its arithmetic and its memory traffic.

The costs are the op specs' own, so the planner, the roofline and MFU use the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.costs import InstructionCost, instruction_cost
from engine.graph.schedule import Program, Schedule
from engine.planner.machine import MachineSpec

CALL_SECONDS = 35e-6
"""What a call costs beside its work on the reference executor: 38 us on average in a micro-step of a tiny model
(64 tokens, 32 wide, where there is next to no work; one thread of a 2026 server). It decides for tiny models only."""


@dataclass(frozen=True)
class ProgramCost:
    """Sums over one run of a program."""

    flops: float
    bytes: float
    seconds: float


def program_cost(schedule: Schedule, program: Program, machine: MachineSpec) -> ProgramCost:
    """FLOPs, bytes and predicted seconds. Equal instructions (the same layer again) are costed once."""
    known: dict[object, InstructionCost] = {}
    flops = moved = seconds = 0.0
    for instruction in program.instructions:
        tensors = (schedule.tensors[name] for name in (*instruction.inputs, *instruction.outputs))
        key = (instruction.op, *instruction.attributes.items(), *((t.shape, t.dtype) for t in tensors))
        if key not in known:
            known[key] = instruction_cost(schedule, instruction)
        cost = known[key]
        flops, moved = flops + cost.flops, moved + cost.bytes
        seconds += CALL_SECONDS + max(cost.flops / machine.flops(), cost.bytes / machine.bandwidth())
    return ProgramCost(flops, moved, seconds)
