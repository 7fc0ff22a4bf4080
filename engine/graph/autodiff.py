"""Reverse mode, ahead of time: a graph in, its backward graph out.

Only what was asked for is differentiated: a node whose operands lead to nothing wanted gets no backward node, so a
frozen weight costs nothing. Where a value fans out, its gradients meet in an explicit `add`. What the forward graph has
to save is read off the result: the forward values that backward nodes name.

`wanted_operands` and `sum_gradients` are module functions on purpose: tests mutate them and must see golden go red.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from engine.graph.builder import Builder
from engine.graph.catalogue import CATALOGUE, Catalogue, spec_of
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Node, Parameter, Value
from engine.graph.opspec import Backward
from engine.graph.verify import overwritten

GRADIENT = "gradient/"


@dataclass(frozen=True, slots=True)
class Derivative:
    """A graph and its backward graph.

    backward's inputs: the gradients `gradient/<output>` that come in, then the `saved` values of `forward`;
    its parameters: those of `forward` it reads; its outputs: the gradients, in the order of `gradients`.
    gradients: name of input or parameter → its gradient (a value of `backward`, or one that passes through).
    """

    forward: Graph
    backward: Graph
    saved: tuple[Value, ...]
    gradients: Mapping[str, Value]


def differentiate(
    graph: Graph,
    wrt: Collection[str],
    *,
    seeds: Collection[str] = (),
    loss: str | None = None,
    catalogue: Catalogue = CATALOGUE,
) -> Derivative:
    """The derivative of `graph` with respect to the inputs and parameters named in `wrt`.

    seeds: names of outputs whose gradient comes in from outside. loss: name of an output whose gradient is one by
    definition. GraphError where a name does not exist or nothing of `wrt` can be reached.
    """
    sources = {value.name: value for value in graph.inputs} | {p.name: p.value for p in graph.parameters}
    outputs = {value.name: value for value in graph.outputs}
    for name in wrt:
        if name not in sources:
            raise GraphError("graph.unknown_value", f"graph '{graph.name}' has no input or parameter '{name}'")
    for name in (*seeds, *((loss,) if loss else ())):
        if name not in outputs:
            raise GraphError("graph.unknown_value", f"graph '{graph.name}' has no output '{name}'")
    builder = Builder(f"{graph.name}.backward", catalogue, prefix="backward/")
    arriving: dict[Value, list[Value]] = {}
    incoming: list[Value] = []
    for name in seeds:
        seed = Value(GRADIENT + name, outputs[name].type)
        incoming.append(seed)
        arriving.setdefault(outputs[name], []).append(seed)
    dependent = dependents(graph, {sources[name] for name in wrt})
    starts = {outputs[loss]} if loss else set()
    for node in reversed(graph.nodes):
        _step_back(builder, node, dependent, arriving, starts)
    gradients: dict[str, Value] = {}
    for name in wrt:
        total = sum_gradients(builder, arriving.get(sources[name], []))
        if total is None:
            raise GraphError("graph.no_gradient", f"no gradient reaches '{name}' in graph '{graph.name}'")
        gradients[name] = total
    return assemble(graph, builder.nodes, tuple(incoming), gradients)


def dependents(graph: Graph, sources: Collection[Value]) -> set[Value]:
    """All values that `sources` have an influence on, themselves included."""
    found = set(sources)
    for node in graph.nodes:
        if any(value in found for value in node.inputs):
            found.update(node.outputs)
    return found


def wanted_operands(node: Node, dependent: Collection[Value]) -> tuple[bool, ...]:
    """Which operands' gradients lead to something that was asked for."""
    return tuple(value in dependent for value in node.inputs)


def sum_gradients(builder: Builder, gradients: list[Value]) -> Value | None:
    """The sum of the gradients that arrive at one value, in order of arrival; None for none."""
    if not gradients:
        return None
    total = gradients[0]
    for each in gradients[1:]:
        total = builder.add(total, each)
    return total


def _step_back(
    builder: Builder,
    node: Node,
    dependent: Collection[Value],
    arriving: dict[Value, list[Value]],
    starts: Collection[Value],
) -> None:
    wanted = wanted_operands(node, dependent)
    is_start = any(value in starts for value in node.outputs)
    if not any(wanted) or not (is_start or any(value in arriving for value in node.outputs)):
        return
    spec = spec_of(node.op, builder.catalogue)
    if spec.differentiate is None:
        raise GraphError("graph.not_differentiable", f"{node.name}: op '{node.op}' has no gradient")
    upstream = tuple(sum_gradients(builder, arriving.get(value, [])) for value in node.outputs)
    results = spec.differentiate(Backward(builder, node, upstream, wanted))
    if len(results) != len(node.inputs):
        raise GraphError("graph.wrong_arity", f"{node.name}: {len(results)} gradients for {len(node.inputs)} operands")
    for value, gradient, is_wanted in zip(node.inputs, results, wanted, strict=True):
        if gradient is None:
            continue
        if not is_wanted:
            raise GraphError("graph.unwanted_gradient", f"{node.name}: made a gradient of '{value.name}' unasked")
        if gradient.type.shape != value.type.shape:
            raise GraphError(
                "graph.bad_gradient", f"{node.name}: the gradient of {value} has another shape: {gradient}"
            )
        arriving.setdefault(value, []).append(gradient)


def assemble(
    forward: Graph, nodes: list[Node], incoming: tuple[Value, ...], gradients: Mapping[str, Value]
) -> Derivative:
    """A Derivative from backward nodes: what they name and do not make is saved, or a parameter, or comes in."""
    made = {value for node in nodes for value in node.outputs}
    named = [value for node in nodes for value in node.inputs] + list(gradients.values())
    outside = [value for value in dict.fromkeys(named) if value not in made and value not in incoming]
    parameters = {parameter.value: parameter for parameter in forward.parameters}
    read: tuple[Parameter, ...] = tuple(parameters[value] for value in outside if value in parameters)
    saved = tuple(value for value in outside if value not in parameters)
    lost = overwritten(forward)
    for value in saved:
        if value in lost:
            raise GraphError(
                "graph.read_after_overwrite",
                f"{lost[value].name}: overwrites '{value.name}' of graph '{forward.name}', which its gradient needs",
            )
    backward = Graph(
        f"{forward.name}.backward", (*incoming, *saved), read, tuple(nodes), tuple(dict.fromkeys(gradients.values()))
    )
    return Derivative(forward, backward, saved, gradients)
