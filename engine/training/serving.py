"""The part of a schedule that only reads the weights: answers and evaluation, without gradients and optimizer.

A full schedule holds up to sixteen bytes a parameter for training; serving keeps the weights and what the chosen
programs touch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.graph.schedule import Schedule, Storage


def serving_schedule(schedule: Schedule, programs: Iterable[str]) -> Schedule:
    """`schedule` with these programs only; every parameter is frozen. Raises KeyError for an unknown program."""
    kept = {name: schedule.programs[name] for name in programs}
    touched = {name for program in kept.values() for call in program.instructions for name in call.touched()}
    named = touched | {each.weight for each in schedule.parameters}
    needed = named | {schedule.tensors[name].root for name in named}
    tensors = {
        name: replace(tensor, storage=Storage.FROZEN) if tensor.storage is Storage.TRAINABLE else tensor
        for name, tensor in schedule.tensors.items()
        if name in needed
    }
    parameters = tuple(
        replace(each, master=None, first_moment=None, second_moment=None, gradients=()) for each in schedule.parameters
    )
    return Schedule(tensors, kept, parameters)
