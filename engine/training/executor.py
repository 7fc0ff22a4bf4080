"""What training asks of an executor: named tensors in and out, and whole programs. Both executors offer it."""

from __future__ import annotations

from typing import Any, Protocol  # Any: NumPy arrays of whatever type the tensor has

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]  # see the import


class Executor(Protocol):
    """Runs the programs of one schedule on one arena."""

    def write(self, name: str, array: AnyArray) -> None:
        """Copy in. bf16 tensors take float32 (rounded) or uint16 (bits)."""

    def read(self, name: str) -> AnyArray:
        """A copy. bf16 tensors come as float32."""

    def run(self, program: str) -> None:
        """Run one program to its end."""

    def close(self) -> None:
        """Free the arena."""


def as_float(array: AnyArray, index: int = 0) -> float:
    """One element as a Python float."""
    return float(np.asarray(array).reshape(-1)[index])
