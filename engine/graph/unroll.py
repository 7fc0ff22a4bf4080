"""From letters to numbers: a graph is placed into a program as instructions on named tensors.

A block graph is placed once a layer. Values become transient tensors `<program>/<place>/<value>`; views become
aliases; results that overwrite an operand are that operand's tensor; sizes in attributes become numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.graph.catalogue import CATALOGUE, Catalogue, spec_of
from engine.graph.dims import Size
from engine.graph.errors import GraphError
from engine.graph.graph import Attribute, Attributes, Graph, Node, Scalar, Value
from engine.graph.opspec import OpSpec
from engine.graph.schedule import Instruction, Program, Storage, Tensor
from engine.graph.types import DType, tensor_type

Tensors = dict[str, Tensor]
Names = Mapping[Value, str]  # graph value → tensor


class ProgramWriter:
    """Collects the instructions of one program; defines its transient tensors in the `tensors` all programs share."""

    def __init__(self, name: str, tensors: Tensors, dims: Mapping[str, int], catalogue: Catalogue = CATALOGUE) -> None:
        self.name = name
        self.tensors = tensors
        self.dims = dims
        self.catalogue = catalogue
        self._instructions: list[Instruction] = []

    def place(
        self, graph: Graph, place: str, given: Names, *, layer: int | None = None, results: Names | None = None
    ) -> dict[Value, str]:
        """Instructions for all nodes of `graph`; which tensor each of its values is.

        given: the tensors of its inputs and parameters. results: tensors that exist already for some of its values.
        """
        bindings = dict(self.dims) if layer is None else {**self.dims, "layer": layer}
        names = dict(given)
        for value in (*graph.inputs, *(parameter.value for parameter in graph.parameters)):
            if value not in names:
                raise GraphError("graph.unbound_value", f"'{value.name}' of graph '{graph.name}' is no tensor yet")
        for node in graph.nodes:
            self._place_node(node, f"{self.name}/{place}/", names, results or {}, bindings, layer)
        return names

    def call(
        self,
        op: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """One instruction on tensors that exist."""
        self._instructions.append(Instruction(op, inputs, outputs, dict(attributes or {})))

    def transient(self, name: str, shape: tuple[int, ...], dtype: DType) -> str:
        """Define a transient tensor of this program; its full name."""
        return define(self.tensors, Tensor(f"{self.name}/{name}", shape, dtype, Storage.TRANSIENT))

    def finish(self) -> Program:
        return Program(self.name, tuple(self._instructions))

    def _place_node(
        self,
        node: Node,
        prefix: str,
        names: dict[Value, str],
        results: Names,
        bindings: Mapping[str, int],
        layer: int | None,
    ) -> None:
        spec = spec_of(node.op, self.catalogue)
        inputs = tuple(names[value] for value in node.inputs)
        if spec.is_view:
            self._define_view(node.outputs[0], prefix, inputs[0], names, bindings)
            return
        for index, value in enumerate(node.outputs):
            if index in spec.updates:
                names[value] = inputs[spec.updates[index]]
            elif value in results:
                names[value] = results[value]
            else:
                shape = value.type.evaluate(bindings)
                transient = Tensor(prefix + value.name, shape, value.type.dtype, Storage.TRANSIENT)
                names[value] = define(self.tensors, transient)
        attributes = concrete(node.attributes, bindings)
        outputs = tuple(names[value] for value in node.outputs)
        workspace = self._workspace(spec, inputs, attributes, outputs[0])
        self._instructions.append(Instruction(node.op, inputs, outputs, attributes, workspace=workspace, layer=layer))

    def _define_view(
        self, value: Value, prefix: str, source: str, names: dict[Value, str], bindings: Mapping[str, int]
    ) -> None:
        base = self.tensors[source]
        shape = value.type.evaluate(bindings)
        view = replace(base, name=prefix + value.name, shape=shape, alias_of=base.root)
        names[value] = define(self.tensors, view)

    def _workspace(self, spec: OpSpec, inputs: tuple[str, ...], attributes: Attributes, result: str) -> str | None:
        types = tuple(tensor_type(self.tensors[name].shape, self.tensors[name].dtype) for name in inputs)
        needed = spec.workspace(spec.call(types, attributes)).evaluate({})
        if not needed:
            return None
        elements = -(-needed // DType.F32.bytes)
        return define(self.tensors, Tensor(f"{result}/workspace", (elements,), DType.F32, Storage.TRANSIENT))


def define(tensors: Tensors, tensor: Tensor) -> str:
    """Add a tensor; its name. GraphError where the name is taken."""
    if tensor.name in tensors:
        raise GraphError("graph.duplicate_tensor", f"tensor '{tensor.name}' is defined twice")
    tensors[tensor.name] = tensor
    return tensor.name


def concrete(attributes: Attributes, bindings: Mapping[str, int]) -> dict[str, Attribute]:
    """Attributes with numbers for sizes."""

    def number(value: Scalar) -> Scalar:
        return value.evaluate(bindings) if isinstance(value, Size) else value

    return {
        name: tuple(number(each) for each in value) if isinstance(value, tuple) else number(value)
        for name, value in attributes.items()
    }
