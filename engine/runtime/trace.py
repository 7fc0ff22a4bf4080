"""Compare two traces of one program: the first value that differs says where to look, later ones follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.protocol.errors import Bug
from engine.runtime.executor import Array, Traced


@dataclass(frozen=True)
class Difference:
    """The first instruction whose result differs, and where that result differs most."""

    index: int
    op: str
    tensor: str
    position: tuple[int, ...]
    first: float
    second: float

    def __str__(self) -> str:
        place = ", ".join(map(str, self.position))
        return f"instruction {self.index} ({self.op}): {self.tensor}[{place}] is {self.first!r} and {self.second!r}"


def first_difference(a: Iterable[Traced], b: Iterable[Traced], relative_tolerance: float = 0.0) -> Difference | None:
    """The first value that differs by more than `relative_tolerance` of its tensor's largest magnitude, or None.

    The traces must be of the same instructions; Bug where they are not.
    """
    for one, other in zip(a, b, strict=True):
        if one.instruction != other.instruction:
            raise Bug("trace_schedules", f"Traces part at instruction {one.index}: they are of different schedules.")
        for name, values in one.outputs.items():
            position = _worst(values, other.outputs[name], relative_tolerance)
            if position is not None:
                found = float(values[position]), float(other.outputs[name][position])
                return Difference(one.index, one.instruction.op, name, position, *found)
    return None


def _worst(a: Array, b: Array, relative_tolerance: float) -> tuple[int, ...] | None:
    """The index of the largest difference beyond the tolerance; a NaN on one side only is the largest of all."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.abs(x - y)
    gap = np.where(np.isnan(x) & np.isnan(y) | (x == y), 0.0, np.where(np.isnan(gap), np.inf, gap))
    finite = np.abs(x)[np.isfinite(x)]
    allowed = relative_tolerance * float(finite.max()) if finite.size else 0.0
    if not gap.size or gap.max() <= allowed:
        return None
    return tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))
