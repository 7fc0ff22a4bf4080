"""What a value is: an element type and a shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from engine.graph.dims import Size, SizeLike, product, size


class DType(Enum):
    """Element types; the value is the name used in plans and by executors."""

    F32 = "f32"
    BF16 = "bf16"
    I32 = "i32"
    I64 = "i64"

    @property
    def bytes(self) -> int:
        return _BYTES[self]

    @property
    def is_float(self) -> bool:
        return self in (DType.F32, DType.BF16)


_BYTES = {DType.F32: 4, DType.BF16: 2, DType.I32: 4, DType.I64: 8}

Shape = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """A shape of symbolic sizes, row-major, and an element type."""

    shape: Shape
    dtype: DType

    @property
    def elements(self) -> Size:
        return product(self.shape)

    @property
    def bytes(self) -> Size:
        return self.elements * self.dtype.bytes

    def evaluate(self, bindings: Mapping[str, int]) -> tuple[int, ...]:
        """The shape in numbers."""
        return tuple(each.evaluate(bindings) for each in self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.value}{shape_text(self.shape)}"


def tensor_type(shape: Sequence[SizeLike], dtype: DType) -> TensorType:
    """A TensorType from ints and sizes mixed."""
    return TensorType(tuple(size(each) for each in shape), dtype)


def shape_text(shape: Shape) -> str:
    return "[" + ", ".join(str(each) for each in shape) + "]"
