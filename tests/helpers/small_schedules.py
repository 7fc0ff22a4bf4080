"""Small schedules written by hand, for tests of the runtime that need no model."""

from __future__ import annotations

from engine.graph.schedule import Instruction, Program, Schedule, Storage, Tensor
from engine.graph.types import DType

SHAPE = (3, 5)


def tensor(name: str, storage: Storage = Storage.TRANSIENT, dtype: DType = DType.F32) -> Tensor:
    return Tensor(name, SHAPE, dtype, storage)


def chain() -> Schedule:
    """y = 2 · (x + w) twice over, by way of four transients of which two are alive at once; and a view of the last."""
    tensors = [
        tensor("x", Storage.INPUT),
        tensor("w", Storage.FROZEN),
        tensor("y", Storage.STATE),
        *(tensor(name) for name in "abcd"),
        Tensor("flat", (15,), DType.F32, Storage.TRANSIENT, alias_of="d"),
        Tensor("flat_y", (15,), DType.F32, Storage.STATE, alias_of="y"),
    ]
    program = Program(
        "go",
        (
            Instruction("add", ("x", "w"), ("a",)),
            Instruction("scale", ("a",), ("b",), {"factor": 2.0}),
            Instruction("add", ("b", "w"), ("c",)),
            Instruction("scale", ("c",), ("d",), {"factor": 2.0}),
            Instruction("scale", ("flat",), ("flat_y",), {"factor": 1.0}),
        ),
    )
    return Schedule({each.name: each for each in tensors}, {"go": program}, ())
