"""OpSpec: the single place where an op is described.

An op is its rules: `infer` (types in → types out), `differentiate` (emits backward nodes with the ordinary builder,
only the gradients that are asked for), `cost`, what it may overwrite, and its workspace. What an op saves is not
declared: it is whatever forward values its backward nodes name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from engine.graph.dims import Size, size
from engine.graph.errors import GraphError
from engine.graph.graph import Attribute, Attributes, Node, Value
from engine.graph.types import DType, Shape, TensorType, shape_text

if TYPE_CHECKING:
    from engine.graph.builder import Builder

Types = tuple[TensorType, ...]
Gradients = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Floating point operations and bytes moved to and from memory, as functions of the dims."""

    flops: Size
    bytes: Size

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Call:
    """What a rule sees of a node: operand types by name, attributes; and the one way to refuse."""

    op: str
    operands: Mapping[str, TensorType]
    attributes: Attributes

    def __getitem__(self, operand: str) -> TensorType:
        return self.operands[operand]

    def shape(self, operand: str, rank: int) -> Shape:
        """The operand's shape, which must have `rank` sizes."""
        found = self[operand].shape
        if len(found) != rank:
            self.refuse(f"operand '{operand}' has shape {shape_text(found)}, but {rank} dimensions are expected")
        return found

    def expect_shape(self, operand: str, shape: Shape, like: str) -> None:
        """`operand` must have `shape`, which follows from what `like` says."""
        if self[operand].shape != shape:
            found = shape_text(self[operand].shape)
            self.refuse(f"operand '{operand}' has shape {found}, but {shape_text(shape)} follows from {like}")

    def expect_dtype(self, operand: str, *allowed: DType) -> None:
        if self[operand].dtype not in allowed:
            names = " or ".join(each.value for each in allowed)
            self.refuse(f"operand '{operand}' is {self[operand].dtype.value}, but must be {names}")

    def expect_like(self, operand: str, other: str) -> None:
        """Same shape and dtype."""
        self.expect_shape(operand, self[other].shape, f"operand '{other}' {self[other]}")
        self.expect_dtype(operand, self[other].dtype)

    def attribute(self, name: str) -> Attribute:
        if name not in self.attributes:
            self.refuse(f"attribute '{name}' is missing")
        return self.attributes[name]

    def size(self, name: str) -> Size:
        """An attribute that is a size: a letter in graphs, a number in schedules."""
        found = self.attribute(name)
        if isinstance(found, Size) or (isinstance(found, int) and not isinstance(found, bool)):
            return size(found)
        self.refuse(f"attribute '{name}' is {found!r}, but must be a size")

    def flag(self, name: str) -> bool:
        found = self.attribute(name)
        if not isinstance(found, bool):
            self.refuse(f"attribute '{name}' is {found!r}, but must be true or false")
        return found

    def number(self, name: str) -> float:
        found = self.attribute(name)
        if not isinstance(found, (int, float)) or isinstance(found, bool):
            self.refuse(f"attribute '{name}' is {found!r}, but must be a number")
        return float(found)

    def refuse(self, why: str) -> NoReturn:
        raise GraphError("graph.bad_operand", f"{self.op}: {why}")


@dataclass(frozen=True, slots=True)
class Backward:
    """What `differentiate` sees: the builder to emit with, the node, the gradients of its results, what is wanted.

    Asking for a result's gradient that nobody produced is an error of the caller: see `upstream`.
    """

    builder: Builder
    node: Node
    gradients: Gradients
    wanted: tuple[bool, ...]

    def upstream(self, result: int = 0) -> Value:
        """The gradient of one result, which must exist."""
        found = self.gradients[result]
        if found is None:
            raise GraphError("graph.no_gradient", f"{self.node.name}: no gradient arrives for its result {result}")
        return found

    def asked(self, *gradients: Value | None) -> Gradients:
        """Of gradients that one op makes together, those that were asked for."""
        return tuple(each if wanted else None for each, wanted in zip(gradients, self.wanted, strict=True))


Infer = Callable[[Call], Types]
Differentiate = Callable[[Backward], Gradients]


def traffic(call: Call, results: Types) -> Size:
    """Each operand read once and each result written once: the bytes of a memory-bound op."""
    total = size(0)
    for each in (*call.operands.values(), *results):
        total = total + each.bytes
    return total


def pointwise(flops_per_element: int) -> Callable[[Call, Types], Cost]:
    """The cost rule of memory-bound ops: some arithmetic per element of the first result."""

    def rule(call: Call, results: Types) -> Cost:
        return Cost(results[0].elements * flops_per_element, traffic(call, results))

    return rule


def no_workspace(call: Call) -> Size:
    return size(0)


@dataclass(frozen=True, slots=True)
class OpSpec:
    """The rules of one op.

    operands, results: names, for messages and documentation (results may vary: `infer` has the last word).
    differentiate: None where no gradient exists (backward ops, integer ops, optimizer ops).
    updates: result index → operand index that is overwritten *always* (accumulators, caches, weights).
    may_overwrite: operand indices whose memory result 0 is allowed to take when nobody reads them later.
    is_view: result 0 is operand 0 under another shape: unrolled to an alias, never to an instruction.
    workspace: bytes needed during the call only.
    """

    name: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    infer: Infer
    cost: Callable[[Call, Types], Cost]
    differentiate: Differentiate | None = None
    updates: Mapping[int, int] = field(default_factory=dict)
    may_overwrite: tuple[int, ...] = ()
    is_view: bool = False
    workspace: Callable[[Call], Size] = no_workspace

    def call(self, types: Types, attributes: Attributes) -> Call:
        """Bind operand types to their names; GraphError on a wrong number of them."""
        if len(types) != len(self.operands):
            wanted = ", ".join(self.operands)
            raise GraphError(
                "graph.wrong_arity", f"{self.name}: takes {len(self.operands)} operands ({wanted}), got {len(types)}"
            )
        return Call(self.name, dict(zip(self.operands, types, strict=True)), attributes)
