"""The three lives of a head that was written once with `head_loss`: training, evaluation, generation."""

from __future__ import annotations

from engine.graph.builder import Builder
from engine.graph.dims import size
from engine.graph.graph import Graph, Node, Value
from engine.graph.rewrites.replay import replay
from engine.graph.types import DType


def for_training(graph: Graph, *, weight_gradient: bool) -> Graph:
    """The head's gradient is made on the way forward: the weight's too, or not where it is frozen."""

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.op != "head_loss":
            return None
        names = tuple(value.name for value in node.outputs[: 4 if weight_gradient else 3])
        return b.node(node.op, inputs, {**node.attributes, "weight_gradient": weight_gradient}, names)

    return replay(graph, visit)


def for_evaluation(graph: Graph) -> Graph:
    """Outputs loss_sum, weight_sum, correct (each f32[1]) and no gradients."""
    correct: list[Value] = []

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.op != "head_loss":
            return None
        attributes = {"chunk_tokens": node.attributes["chunk_tokens"]}
        names = (node.outputs[0].name, node.outputs[1].name, "correct")
        results = b.node("head_loss_forward", inputs, attributes, names)
        correct.append(results[2])
        return results[:2]

    return _with_outputs(replay(graph, visit), *correct)


def for_generation(graph: Graph, *, select: bool) -> Graph:
    """Output logits f32[rows, V]: of all rows, or where `select`, of the one that `input/last_row` i32[1] names."""
    logits: list[Value] = []

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.op != "head_loss":
            return None
        h, weight, *_ = inputs
        if select:
            h = b.one("select_row", h, b.input("input/last_row", [size(1)], DType.I32))
        result = b.linear(h, weight)
        if result.type.dtype is not DType.F32:
            result = b.one("cast", result, dtype=DType.F32)
        logits.append(result)
        return result, result

    graph = replay(graph, visit)
    return Graph(graph.name, graph.inputs, graph.parameters, graph.nodes, tuple(logits))


def _with_outputs(graph: Graph, *extra: Value) -> Graph:
    return Graph(graph.name, graph.inputs, graph.parameters, graph.nodes, (*graph.outputs, *extra))
