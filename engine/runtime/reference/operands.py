"""What a binder gets: the instruction's operands as views of the arena, and its attributes, typed on the way out.

A binder is a function `Operands → Call`. It may look at shapes, dtypes and attributes, which are static; the call that
it returns reads and writes the views and nothing else. Arithmetic is in float32 (float64 when an operand is float64,
which only tests do); what is stored in a narrower dtype is rounded once, at the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import torch

from engine.protocol.errors import Bug

Call = Callable[[], object]
T = TypeVar("T")
WIDE = (torch.float32, torch.float64)


@dataclass(frozen=True)
class Operands:
    """`where` names the instruction for messages; all tensors are contiguous views of the arena.

    `workspace` is memory for the call alone, as the op's rules ask for it.
    """

    where: str
    inputs: tuple[torch.Tensor, ...]
    outputs: tuple[torch.Tensor, ...]
    attributes: Mapping[str, object]
    workspace: torch.Tensor | None = None

    def scratch(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """The start of the workspace as a tensor; Bug where the schedule has given too little."""
        size_bytes = prod(shape) * dtype.itemsize
        memory = None if self.workspace is None else self.workspace.view(-1).view(torch.uint8)
        if memory is None or memory.numel() < size_bytes:
            given = 0 if memory is None else memory.numel()
            raise Bug("operand_workspace", f"{self.where} needs {size_bytes:,} bytes of workspace and got {given:,}.")
        return memory[:size_bytes].view(dtype).view(shape)

    def _attribute(self, name: str, *kinds: type[T]) -> T:
        value = self.attributes.get(name)
        if not isinstance(value, kinds):
            raise Bug(
                "operand_attribute",
                f"Attribute {name!r} of {self.where} is {value!r}, but {kinds[0].__name__} is needed.",
                "This is a fault of the engine; please report it with the recipe.",
            )
        return value

    def number(self, name: str) -> float:
        return float(self._attribute(name, float, int))

    def integer(self, name: str) -> int:
        return self._attribute(name, int)

    def flag(self, name: str) -> bool:
        return self._attribute(name, bool)

    def numbers(self, name: str) -> tuple[float, ...]:
        return self._attribute(name, tuple)

    def integers(self, name: str) -> tuple[int, ...]:
        return self._attribute(name, tuple)


Binder = Callable[[Operands], Call]


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in a dtype to calculate in: itself, or a float32 copy of a narrower one."""
    return tensor if tensor.dtype in WIDE else tensor.float()


def all_wide(*tensors: torch.Tensor) -> bool:
    """Whether results may be written with out=, because every operand has the same calculating dtype already."""
    return tensors[0].dtype in WIDE and all(tensor.dtype == tensors[0].dtype for tensor in tensors)


def rows(tensor: torch.Tensor) -> torch.Tensor:
    """[..., X] seen as [rows, X]; a view, since operands are contiguous."""
    return tensor.view(-1, tensor.shape[-1])


def softmax_in_place(scores: torch.Tensor) -> torch.Tensor:
    """Turn scores into probabilities over the last axis; return the logarithm of their sum of exponentials, [..., 1].

    lse = max(scores) − log(max(probabilities)): the largest probability is at least one over their number, so its
    logarithm is exact enough, and torch's softmax is one pass where logsumexp takes four (27 ms against 1 ms for
    64 tokens of 49,152 logits on two cores).
    """
    largest = scores.amax(-1, keepdim=True)
    torch.softmax(scores, -1, out=scores)
    return largest.sub_(scores.amax(-1, keepdim=True).log_())
