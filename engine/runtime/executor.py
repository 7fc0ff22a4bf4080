"""The reference executor: a schedule bound once to torch operations on views of the arena, then run as a list of calls.

It trains where there is no GPU, and it is the oracle of every kernel. It knows nothing of gradients: backward
instructions are instructions like others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any  # NumPy arrays of whatever dtype the tensor has

import numpy as np
import torch
from numpy.typing import NDArray

from engine.graph.schedule import Instruction, Schedule
from engine.protocol.errors import Bug
from engine.runtime.arena import Arena
from engine.runtime.liveness import deaths
from engine.runtime.reference.dispatch import bind
from engine.runtime.reference.operands import Call

Array = NDArray[Any]  # see the import


@dataclass(frozen=True)
class Traced:
    """One executed instruction and copies of what it wrote, by tensor name."""

    index: int
    instruction: Instruction
    outputs: Mapping[str, Array]


class ReferenceExecutor:
    """Owns the arena. `threads` is part of the numerics: sums over another number of threads round differently.

    With `poison`, memory is filled with NaN bytes before its first use and as soon as its last reader is done, so that
    a read outside a tensor's lifetime cannot go unseen. Raises Bug for an unknown op or a plan that does not fit.
    """

    def __init__(
        self,
        schedule: Schedule,
        offsets: Mapping[str, int],
        arena_bytes: int,
        threads: int,
        poison: bool = False,
    ) -> None:
        torch.set_num_threads(threads)
        self._schedule = schedule
        self._poison = poison
        with torch.no_grad():
            self.arena = Arena(schedule, offsets, arena_bytes, poison=poison)
            self._calls = {name: self._bind(name) for name in schedule.programs}

    def write(self, name: str, array: Array) -> None:
        """Copy an array of the tensor's shape in. For bf16: float32 is rounded to nearest even, uint16 is bits."""
        view = self._open_view(name)
        if tuple(array.shape) != tuple(view.shape):
            raise Bug(
                "executor_shape",
                f"Tensor '{name}' has shape {list(view.shape)}, but an array of shape {list(array.shape)} was written.",
            )
        source = np.ascontiguousarray(array)
        source = source if source.flags.writeable else source.copy()
        tensor = torch.from_numpy(source.view(np.int16) if source.dtype == np.uint16 else source)
        with torch.no_grad():
            if view.dtype == torch.bfloat16 and source.dtype == np.uint16:
                view.copy_(tensor.view(torch.bfloat16))
            else:
                view.copy_(tensor)

    def read(self, name: str) -> Array:
        """A copy of the tensor as it stands; bf16 comes as float32, which holds it exactly."""
        view = self._open_view(name)
        result: Array = (view.float() if view.dtype == torch.bfloat16 else view).numpy(force=True).copy()
        return result

    def run(self, program: str) -> None:
        """Run all instructions of a program, in their order."""
        with torch.no_grad():
            for call in self._calls_of(program):
                call()

    def trace(self, program: str) -> Iterator[Traced]:
        """Run a program instruction by instruction, handing out what each one wrote."""
        instructions = self._schedule.programs[program].instructions
        dying = deaths(self._schedule, program) if self._poison else {}
        for index, instruction in enumerate(instructions):
            with torch.no_grad():
                self._call(instruction)()
            yield Traced(index, instruction, {name: self.read(name) for name in instruction.outputs})
            for name in dying.get(index, ()):
                self.arena.poison(name)

    def close(self) -> None:
        """Let go of the arena; every later use is an error."""
        self._calls = {}
        del self.arena

    def _bind(self, program: str) -> list[Call]:
        dying = deaths(self._schedule, program) if self._poison else {}
        calls: list[Call] = []
        for index, instruction in enumerate(self._schedule.programs[program].instructions):
            calls.append(self._call(instruction))
            calls += [partial(self.arena.poison, name) for name in dying.get(index, ())]
        return calls

    def _call(self, instruction: Instruction) -> Call:
        return bind(instruction, {name: self.arena.view(name) for name in instruction.touched()})

    def _open_view(self, name: str) -> torch.Tensor:
        if not self._calls:
            raise Bug("executor_closed", f"Tensor '{name}' was asked of an executor that is closed.")
        if name not in self._schedule.tensors:
            raise Bug("executor_tensor", f"The schedule has no tensor '{name}'.")
        return self.arena.view(name)

    def _calls_of(self, program: str) -> list[Call]:
        if program not in self._calls:
            known = ", ".join(self._calls) or "none: the executor is closed"
            raise Bug("executor_program", f"The schedule has no program '{program}' (there are: {known}).")
        return self._calls[program]
