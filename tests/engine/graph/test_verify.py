"""Each class of broken graph is refused with a message that names the node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.graph.builder import Builder
from engine.graph.catalogue import CATALOGUE, catalogue_of
from engine.graph.dims import D, F, N
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Node, Value
from engine.graph.ops.step import STEP_STATE
from engine.graph.types import DType, tensor_type
from engine.graph.verify import verify_graph


def chain() -> Graph:
    b = Builder("chain")
    x = b.input("x", [N, D])
    y = b.linear(x, b.weight("w", [F, D]))
    return b.finish(b.scale(y, 2.0))


def test_a_built_graph_is_legal() -> None:
    verify_graph(chain())


def test_undefined_value() -> None:
    graph = chain()
    with pytest.raises(GraphError, match=r"scale 'scale\.1': operand 'linear\.1' is made by nothing"):
        verify_graph(replace(graph, nodes=graph.nodes[1:]))


def test_cycle_or_wrong_order() -> None:
    graph = chain()
    with pytest.raises(GraphError, match=r"scale 'scale\.1': operand 'linear\.1' is made only by a later node"):
        verify_graph(replace(graph, nodes=graph.nodes[::-1]))


def test_double_producer() -> None:
    graph = chain()
    with pytest.raises(GraphError, match=r"scale 'scale\.1': value 'scale\.1' of graph 'chain' exists already"):
        verify_graph(replace(graph, nodes=(*graph.nodes, graph.nodes[-1])))


def test_wrong_arity() -> None:
    graph = chain()
    linear, scale = graph.nodes
    with pytest.raises(GraphError, match=r"linear 'linear\.1'.*takes 2 operands \(x, weight\), got 1"):
        verify_graph(replace(graph, nodes=(replace(linear, inputs=linear.inputs[:1]), scale)))
    extra = Value("extra", linear.outputs[0].type)
    with pytest.raises(GraphError, match=r"linear 'linear\.1': has 2 results, its op gives 1"):
        verify_graph(replace(graph, nodes=(replace(linear, outputs=(*linear.outputs, extra)), scale)))


def test_type_that_disagrees_with_the_rule() -> None:
    graph = chain()
    linear, scale = graph.nodes
    wrong = Value("linear.1", tensor_type([N, D], DType.F32))
    nodes = (replace(linear, outputs=(wrong,)), replace(scale, inputs=(wrong,)))
    with pytest.raises(GraphError, match=r"linear 'linear\.1': result .*\[N, D\] disagrees.*\[N, F\]"):
        verify_graph(replace(graph, nodes=nodes))


def test_the_same_name_with_another_type() -> None:
    graph = chain()
    linear, scale = graph.nodes
    other = Value("linear.1", tensor_type([N, F], DType.BF16))
    with pytest.raises(GraphError, match=r"scale 'scale\.1': reads linear\.1: bf16\[N, F\], but it was made as"):
        verify_graph(replace(graph, nodes=(linear, replace(scale, inputs=(other,)))))


def test_unknown_op_and_output() -> None:
    graph = chain()
    linear, scale = graph.nodes
    with pytest.raises(GraphError, match="op 'teleport' has no rules"):
        verify_graph(replace(graph, nodes=(linear, replace(scale, op="teleport"))))
    with pytest.raises(GraphError, match=r"output 'scale\.1' of graph 'chain' is never made"):
        verify_graph(replace(graph, nodes=(linear,)))


def accumulating(*, read_later: bool) -> Graph:
    b = Builder("accumulating")
    accumulator, gradient = b.input("acc", [D]), b.input("g", [D])
    state = b.input("input/step_state", STEP_STATE.shape, STEP_STATE.dtype)
    after = b.one("accumulate", accumulator, gradient, state)
    return b.finish(b.add(after, accumulator if read_later else gradient))


def test_overwriting_a_value_that_is_read_later() -> None:
    verify_graph(accumulating(read_later=False))
    with pytest.raises(
        GraphError, match=r"accumulate 'accumulate\.1': overwrites 'acc', which add 'add\.1' reads later"
    ):
        verify_graph(accumulating(read_later=True))


def test_a_view_of_an_overwritten_value_is_stale_too() -> None:
    b = Builder("views")
    accumulator, gradient = b.input("acc", [D]), b.input("g", [D])
    state = b.input("input/step_state", STEP_STATE.shape, STEP_STATE.dtype)
    before = b.reshape(accumulator, [D, 1])
    after = b.reshape(b.one("accumulate", accumulator, gradient, state), [D, 1])
    verify_graph(b.finish(after))
    with pytest.raises(GraphError, match=r"accumulate 'accumulate\.1': overwrites 'reshape\.1', which add 'add\.1'"):
        verify_graph(b.finish(b.add(after, before)))


def test_overwriting_a_value_that_is_another_operand_or_an_output() -> None:
    graph = accumulating(read_later=False)
    node = graph.nodes[0]
    twice = replace(node, inputs=(node.inputs[0], node.inputs[0], node.inputs[2]))
    with pytest.raises(GraphError, match="overwrites 'acc', another operand too"):
        verify_graph(replace(graph, nodes=(twice, *graph.nodes[1:])))
    with pytest.raises(GraphError, match="overwrites 'acc', which the output of graph"):
        verify_graph(replace(graph, outputs=(node.inputs[0],)))


def test_builder_errors_name_op_operand_and_both_shapes() -> None:
    b = Builder("block")
    x = b.input("x", [N, D])
    with pytest.raises(GraphError) as caught:
        b.linear(x, b.weight("w", [D, F]))
    assert caught.value.where == "block: linear(x, w)"
    assert "operand 'x' has shape [N, D], but [N, F] follows from operand 'weight' f32[D, F]" in caught.value.message
    with pytest.raises(GraphError, match="op 'teleport' has no rules, so it cannot be part of a graph"):
        b.one("teleport", x)
    with pytest.raises(GraphError, match=r"cannot become \[N, F\]"):
        b.reshape(x, [N, F])
    with pytest.raises(GraphError, match="operand 'y' is bf16, but must be f32"):
        b.add(x, b.input("half", [N, D], DType.BF16))


def test_the_catalogue_cannot_be_changed_and_has_each_name_once() -> None:
    spec = CATALOGUE["add"]
    with pytest.raises(TypeError):
        CATALOGUE["other"] = spec  # type: ignore[index]  # the point of the test
    with pytest.raises(GraphError, match="op 'add' is described twice"):
        catalogue_of([spec, spec])


def test_a_node_is_frozen() -> None:
    node: Node = chain().nodes[0]
    with pytest.raises(AttributeError):
        node.op = "add"  # type: ignore[misc]  # the point of the test
