"""KernelSpec: all that the host knows of a kernel: its parameters, what they must fulfil, its launch, its cost.

Rules are functions of the arguments by name (pointers as addresses, 0 where left out), so the same mapping gives the
grid, the bytes moved and the packed argument list. A launch shape follows from sizes alone, never from the device:
reductions add in the same order on every GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Number = int | float
Arguments = Mapping[str, Number]
Kind = Literal["pointer", "int32", "uint32", "int64", "float32"]

BF16_BYTES, F32_BYTES = 2, 4
PACK = 8  # bf16 values in the sixteen bytes of one access
VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel. `alignment` is in bytes and for pointers; an optional pointer may be 0."""

    name: str
    kind: Kind
    alignment: int = 1
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """Blocks, threads a block, and bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class KernelCost:
    """Bytes that any implementation must move (each input read once, each output written once) and operations."""

    bytes: int
    flops: int = 0


@dataclass(frozen=True, slots=True)
class Demand:
    """What arguments must fulfil beyond their types; `says` completes "… of this kernel …"."""

    says: str
    holds: Callable[[Arguments], bool]


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """`name`: the function in `file` (beside this module). `feature`: the suffix of the architecture that its
    instructions need: "" (any), "f" (family) or "a" (this one only). `minimum_capability`: 80 is compute 8.0."""

    name: str
    file: str
    parameters: tuple[Parameter, ...]
    launch: Callable[[Arguments], Launch]
    cost: Callable[[Arguments], KernelCost]
    demands: tuple[Demand, ...] = ()
    feature: Literal["", "f", "a"] = ""
    minimum_capability: int = 80


def array(name: str) -> Parameter:
    """A pointer to an array that is accessed sixteen bytes at a time."""
    return Parameter(name, "pointer", VECTOR_BYTES)


def optional_array(name: str) -> Parameter:
    return Parameter(name, "pointer", VECTOR_BYTES, optional=True)


def numbers(name: str, alignment: int = 4) -> Parameter:
    """A pointer to values that are accessed one by one, of `alignment` bytes each."""
    return Parameter(name, "pointer", alignment)


def int32(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, "int32") for name in names)


def float32(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, "float32") for name in names)


COUNT = Parameter("count", "int64")
STEP_STATE = numbers("step_state", 8)


def whole(arguments: Arguments, name: str) -> int:
    """An argument that is a whole number."""
    return int(arguments[name])


def quotient_up(value: int, divisor: int) -> int:
    return -(-value // divisor)


def packs_of(name: str, most: int | None = None) -> Demand:
    """`name` is a positive multiple of eight, so that rows begin at sixteen bytes."""
    limit = f", at most {most:,}" if most else ""

    def holds(arguments: Arguments) -> bool:
        value = whole(arguments, name)
        return value > 0 and value % PACK == 0 and (most is None or value <= most)

    return Demand(f"takes {name} in multiples of {PACK}{limit}", holds)


def positive(*names: str) -> Demand:
    return Demand(f"takes positive {', '.join(names)}", lambda a: all(a[name] > 0 for name in names))


def launch_pieces(arguments: Arguments) -> Launch:
    """A thread for each eight elements of `count`, 256 threads a block."""
    return Launch((quotient_up(whole(arguments, "count"), 256 * PACK), 1, 1), (256, 1, 1))


def bytes_each(per_element: int, flops: int = 1) -> Callable[[Arguments], KernelCost]:
    """The cost of a kernel that moves so many bytes for each element of `count`."""
    return lambda a: KernelCost(whole(a, "count") * per_element, whole(a, "count") * flops)
