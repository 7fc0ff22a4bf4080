"""Waits: the fewest that make a program safe, given which stream each instruction runs on."""

from __future__ import annotations

from dataclasses import replace

from engine.graph.ordering import Offsets, dependencies
from engine.graph.schedule import Program, Schedule


def with_waits(schedule: Schedule, program: Program, offsets: Offsets | None = None) -> Program:
    """`program` with exactly the waits its streams make necessary; those it had are dropped.

    A wait is left out where an earlier one, or the order within a stream, already implies it.
    """
    needed = dependencies(schedule, program, offsets)
    instructions = [replace(each, waits=()) for each in program.instructions]
    clocks: list[dict[int, int]] = []
    latest: dict[int, int] = {}
    for index, instruction in enumerate(instructions):
        clock: dict[int, int] = {}
        waits: list[int] = []
        if instruction.stream in latest:
            _merge(clock, clocks, instructions[latest[instruction.stream]].stream, latest[instruction.stream])
        for other in sorted(needed[index], reverse=True):
            stream = instructions[other].stream
            if clock.get(stream, -1) < other:
                waits.append(other)
                _merge(clock, clocks, stream, other)
        instructions[index] = replace(instruction, waits=tuple(sorted(waits)))
        clocks.append(clock)
        latest[instruction.stream] = index
    return Program(program.name, tuple(instructions))


def _merge(clock: dict[int, int], clocks: list[dict[int, int]], stream: int, finished: int) -> None:
    for other, seen in clocks[finished].items():
        clock[other] = max(clock.get(other, -1), seen)
    clock[stream] = max(clock.get(stream, -1), finished)
