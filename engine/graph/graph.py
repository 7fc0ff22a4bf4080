"""Value, Node, Graph: plain frozen data, nothing hidden, no closures.

A graph lists its nodes in an order that can be run. Who produces a value is a fact of the graph, not of the value,
so that rewrites can share values freely; `verify.py` says what is legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from engine.graph.dims import Size
from engine.graph.types import DType, TensorType

# Plain data only. A Size inside attributes (a chunk length, the layer's number) becomes a number when unrolled.
Scalar = bool | int | float | str | None | DType | Size
Attribute = Scalar | tuple[Scalar, ...]
Attributes = Mapping[str, Attribute]

NO_ATTRIBUTES: Attributes = MappingProxyType({})

INPUT = "input/"  # a graph input whose name starts so is the schedule's tensor of that name, not a value handed over


@dataclass(frozen=True, slots=True)
class Value:
    """A named, typed result of exactly one node, or an input or parameter of the graph."""

    name: str
    type: TensorType

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True, slots=True)
class Part:
    """A checkpoint's tensor that is so many rows of a grouped parameter."""

    name: str
    rows: Size


@dataclass(frozen=True, slots=True)
class Parameter:
    """A weight that a graph reads. `decay`: whether weight decay applies to it when it is trained.

    `parts`: what it is called in checkpoints, where it is several tensors stacked by their rows, in this order; none
    for a parameter that is a tensor of its own.
    """

    value: Value
    decay: bool = True
    parts: tuple[Part, ...] = ()

    @property
    def name(self) -> str:
        return self.value.name


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: the name of its OpSpec, operands, results, attributes."""

    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    attributes: Attributes = field(default_factory=lambda: NO_ATTRIBUTES, hash=False)

    @property
    def name(self) -> str:
        """How messages call this node: its op and first result."""
        return f"{self.op} '{self.outputs[0].name}'" if self.outputs else self.op


@dataclass(frozen=True, slots=True)
class Graph:
    """Inputs and parameters → nodes in running order → outputs."""

    name: str
    inputs: tuple[Value, ...]
    parameters: tuple[Parameter, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]

    def producers(self) -> dict[Value, Node]:
        """Which node makes each value; inputs and parameters have none."""
        return {value: node for node in self.nodes for value in node.outputs}

    def input(self, name: str) -> Value:
        """The input called `name` (KeyError where there is none)."""
        return {value.name: value for value in self.inputs}[name]

    def parameter(self, name: str) -> Parameter:
        """The parameter called `name` (KeyError where there is none)."""
        return {parameter.name: parameter for parameter in self.parameters}[name]
