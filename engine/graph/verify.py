"""What a legal graph is. Every refusal names the node.

Checked: each name means one value; each value has one producer, and nothing is read before it is made (so there is
no cycle); each op exists, with the right number of operands and results; each result's type is what the op's rule
infers; nothing reads a value, or a view of it, after an op has overwritten it; the outputs exist.
"""

from __future__ import annotations

from engine.graph.catalogue import CATALOGUE, Catalogue, spec_of
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Node, Value
from engine.graph.opspec import OpSpec


def verify_graph(graph: Graph, catalogue: Catalogue = CATALOGUE) -> None:
    """GraphError for the first thing that is not legal."""
    known: dict[str, Value] = {}
    lost: dict[Value, Node] = {}
    memory: dict[Value, Value] = {}  # views and new contents → the value whose memory they are
    for value in (*graph.inputs, *(parameter.value for parameter in graph.parameters)):
        _define(graph, known, value, f"{graph.name}: input")
    for node in graph.nodes:
        for value in node.inputs:
            _check_read(graph, node, value, known, lost)
        _check_types(graph, node, catalogue)
        _overwrite(node, spec_of(node.op, catalogue), memory, lost)
        for value in node.outputs:
            _define(graph, known, value, node.name)
    for value in graph.outputs:
        if known.get(value.name) != value:
            raise GraphError("graph.undefined_value", f"output '{value.name}' of graph '{graph.name}' is never made")
        if value in lost:
            _refuse_stale(lost[value], f"the output of graph '{graph.name}'", value)


def overwritten(graph: Graph, catalogue: Catalogue = CATALOGUE) -> dict[Value, Node]:
    """The values whose memory holds something else when the graph has run, and the node that has written it."""
    found: dict[Value, Node] = {}
    memory: dict[Value, Value] = {}
    for node in graph.nodes:
        _overwrite(node, spec_of(node.op, catalogue), memory, found)
    return found


def _define(graph: Graph, known: dict[str, Value], value: Value, maker: str) -> None:
    if value.name in known:
        raise GraphError("graph.two_producers", f"{maker}: value '{value.name}' of graph '{graph.name}' exists already")
    known[value.name] = value


def _check_read(graph: Graph, node: Node, value: Value, known: dict[str, Value], lost: dict[Value, Node]) -> None:
    if value.name not in known:
        later = any(value in other.outputs for other in graph.nodes)
        why = "is made only by a later node (a cycle, or nodes out of order)" if later else "is made by nothing"
        raise GraphError("graph.undefined_value", f"{node.name}: operand '{value.name}' {why}")
    if known[value.name] != value:
        raise GraphError("graph.bad_type", f"{node.name}: reads {value}, but it was made as {known[value.name]}")
    if value in lost:
        _refuse_stale(lost[value], node.name, value)


def _refuse_stale(writer: Node, reader: str, value: Value) -> None:
    raise GraphError(
        "graph.read_after_overwrite", f"{writer.name}: overwrites '{value.name}', which {reader} reads later"
    )


def _check_types(graph: Graph, node: Node, catalogue: Catalogue) -> None:
    spec = spec_of(node.op, catalogue)
    try:
        types = spec.infer(spec.call(tuple(value.type for value in node.inputs), node.attributes))
    except GraphError as error:
        raise GraphError(error.code, f"{node.name}: {error.message}", where=graph.name) from error
    if len(types) != len(node.outputs):
        raise GraphError(
            "graph.wrong_arity", f"{node.name}: has {len(node.outputs)} results, its op gives {len(types)}"
        )
    for value, expected in zip(node.outputs, types, strict=True):
        if value.type != expected:
            raise GraphError("graph.bad_type", f"{node.name}: result {value} disagrees with the op's rule: {expected}")


def _overwrite(node: Node, spec: OpSpec, memory: dict[Value, Value], lost: dict[Value, Node]) -> None:
    """Mark all that lies in the memory this node writes over; note in whose memory its results lie."""
    for result, operand in spec.updates.items():
        _check_update(node, result, operand)
        base = memory.get(node.inputs[operand], node.inputs[operand])
        for value in (base, *(other for other, owner in memory.items() if owner == base)):
            lost[value] = node
        memory[node.outputs[result]] = base
    if spec.is_view:
        memory[node.outputs[0]] = memory.get(node.inputs[0], node.inputs[0])


def _check_update(node: Node, result: int, operand: int) -> None:
    target = node.inputs[operand]
    if node.outputs[result].type != target.type:
        raise GraphError("graph.bad_update", f"{node.name}: overwrites '{target.name}' with another type")
    if node.inputs.count(target) > 1:
        raise GraphError("graph.read_after_overwrite", f"{node.name}: overwrites '{target.name}', another operand too")
