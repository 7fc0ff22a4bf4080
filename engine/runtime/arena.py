"""One buffer of exactly the planned size; every tensor of the schedule is a view of it at its planned offset."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from engine.graph.schedule import Schedule, Tensor
from engine.graph.types import DType
from engine.runtime.liveness import verify_placement

TORCH_DTYPES = {
    DType.F32: torch.float32,
    DType.BF16: torch.bfloat16,
    DType.I32: torch.int32,
    DType.I64: torch.int64,
}
# All bits set is NaN in every float type and −1 in every integer type: a stale read shows in the very next result.
POISON = 0xFF


class Arena:
    """Allocated once, its pages touched at once, so that memory which is not there fails here and not at step 900."""

    def __init__(
        self, schedule: Schedule, offsets: Mapping[str, int], arena_bytes: int, *, poison: bool = False
    ) -> None:
        verify_placement(schedule, offsets, arena_bytes)
        self._tensors = schedule.tensors
        self._offsets = offsets
        self._buffer = torch.empty(arena_bytes, dtype=torch.uint8)
        self._buffer.fill_(POISON if poison else 0)
        self._views = {name: self._view(tensor) for name, tensor in schedule.tensors.items() if tensor.root in offsets}

    @property
    def base(self) -> int:
        """The address of the arena's first byte."""
        return self._buffer.data_ptr()

    @property
    def bytes(self) -> int:
        return self._buffer.numel()

    def address(self, name: str) -> int:
        """The address of a bound tensor: `base`, plus its planned offset, plus that of a part within its whole."""
        return self._views[name].data_ptr()

    def view(self, name: str) -> torch.Tensor:
        """The tensor called `name` (KeyError where the schedule has none)."""
        return self._views[name]

    def poison(self, name: str) -> None:
        """Overwrite the memory of a tensor whose life has ended."""
        self._memory(self._tensors[name]).fill_(POISON)

    def _memory(self, tensor: Tensor) -> torch.Tensor:
        start = self._offsets[tensor.root] + tensor.alias_offset
        return self._buffer[start : start + tensor.bytes]

    def _view(self, tensor: Tensor) -> torch.Tensor:
        return self._memory(tensor).view(TORCH_DTYPES[tensor.dtype]).view(tensor.shape)
