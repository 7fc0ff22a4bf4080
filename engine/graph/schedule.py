"""The concrete form: numbers instead of letters, a flat list of instructions a program.

Everything downstream (lifetimes, arena, simulator, executors) reads only this. An in-place operation names the
same tensor as operand and result. A tensor with `alias_of` is the same bytes under another shape, or a range of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import prod

from engine.graph.graph import NO_ATTRIBUTES, Attributes
from engine.graph.types import DType


class Storage(Enum):
    """The class of a tensor: decides where it lives. Only TRANSIENT ones have a lifetime within a program."""

    FROZEN = "frozen"
    TRAINABLE = "trainable"
    MASTER = "master"
    OPTIMIZER_STATE = "optimizer_state"
    GRADIENT = "gradient"
    INPUT = "input"
    STATE = "state"
    TRANSIENT = "transient"

    @property
    def is_persistent(self) -> bool:
        return self is not Storage.TRANSIENT


@dataclass(frozen=True, slots=True)
class Tensor:
    """Row-major memory with a name. `alias_of` names the tensor whose bytes these are (never itself an alias), from its
    byte `alias_offset` on: a view of all of it, or a range of its rows."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    storage: Storage
    alias_of: str | None = None
    alias_offset: int = 0

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.bytes

    @property
    def root(self) -> str:
        """The name of the tensor that owns the memory."""
        return self.alias_of or self.name


@dataclass(frozen=True, slots=True)
class Instruction:
    """One call. `waits`: indices of earlier instructions of other streams that must have finished before it starts.

    `workspace` names a TRANSIENT tensor of bytes that lives for this call only, or None.
    `layer`: the layer this call belongs to (None outside the blocks), for profiles and streamed weights.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Attributes = field(default_factory=lambda: NO_ATTRIBUTES, hash=False)
    stream: int = 0
    waits: tuple[int, ...] = ()
    workspace: str | None = None
    layer: int | None = None

    def touched(self) -> tuple[str, ...]:
        """Every tensor the call reads or writes."""
        extra = (self.workspace,) if self.workspace else ()
        return (*self.inputs, *self.outputs, *extra)


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions in issue order."""

    name: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class ParameterSlots:
    """Where one parameter (canonical Hugging Face name, unfused shape) and what trains it live: tensor names.

    Frozen parameters have only `weight`. `master` equals `weight` where the weight is its own fp32 master.
    """

    name: str
    weight: str
    decay: bool
    master: str | None = None
    first_moment: str | None = None
    second_moment: str | None = None
    gradients: tuple[str, ...] = ()

    @property
    def is_trainable(self) -> bool:
        return self.master is not None


@dataclass(frozen=True, slots=True)
class Schedule:
    """All tensors by name, all programs by name, and the parameters in canonical order."""

    tensors: Mapping[str, Tensor]
    programs: Mapping[str, Program]
    parameters: tuple[ParameterSlots, ...]

    def of_storage(self, storage: Storage) -> Iterator[Tensor]:
        """The tensors of one class that own memory (aliases left out), in order of definition."""
        return (t for t in self.tensors.values() if t.storage is storage and t.alias_of is None)

    def parameter(self, name: str) -> ParameterSlots:
        """The slots of the parameter called `name` (KeyError where there is none)."""
        return {slots.name: slots for slots in self.parameters}[name]
