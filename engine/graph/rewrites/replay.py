"""The one way to rewrite a graph: play its nodes again through a builder, and say for some what to emit instead.

Types are inferred anew, so a rewrite that changes a dtype changes everything that follows from it. Inputs and
parameters that nothing reads any more disappear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.graph.builder import Builder
from engine.graph.catalogue import CATALOGUE, Catalogue
from engine.graph.graph import Graph, Node, Value

# Emits a replacement for the node on these operands and gives its results, or None to keep the node.
Visit = Callable[[Builder, Node, tuple[Value, ...]], tuple[Value, ...] | None]


def keep(builder: Builder, node: Node, inputs: tuple[Value, ...]) -> None:
    """The visit that changes nothing."""


def replay(
    graph: Graph,
    visit: Visit = keep,
    *,
    retype: Callable[[Value], Value] = lambda value: value,
    catalogue: Catalogue = CATALOGUE,
    prefix: str = "rewritten/",
) -> Graph:
    """`graph` with each node replaced as `visit` says and each input and parameter as `retype` says.

    `prefix`: of the names of new values; another one for each rewrite that is applied to the results of others.
    """
    builder = Builder(graph.name, catalogue, prefix=prefix)
    now: dict[Value, Value] = {}
    for value in graph.inputs:
        now[value] = retype(value)
        builder.inputs.append(now[value])
    for parameter in graph.parameters:
        now[parameter.value] = retype(parameter.value)
        builder.parameters.append(replace(parameter, value=now[parameter.value]))
    for node in graph.nodes:
        inputs = tuple(now[value] for value in node.inputs)
        results = visit(builder, node, inputs)
        if results is None:
            names = tuple(value.name for value in node.outputs)
            results = builder.node(node.op, inputs, node.attributes, names)
        now.update(zip(node.outputs, results, strict=False))
    outputs = tuple(now[value] for value in graph.outputs)
    return without_unread(builder.finish(*outputs))


def without_unread(graph: Graph) -> Graph:
    """Without the inputs and parameters that nothing reads."""
    read = {value for node in graph.nodes for value in node.inputs} | set(graph.outputs)
    return replace(
        graph,
        inputs=tuple(value for value in graph.inputs if value in read),
        parameters=tuple(parameter for parameter in graph.parameters if parameter.value in read),
    )
