from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.graph import autodiff
from engine.graph.autodiff import differentiate
from engine.graph.builder import Builder
from engine.graph.dims import D, N
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Node, Value
from tests.helpers.finite_differences import check_gradients
from tests.helpers.numpy_graph import random_inputs

DIMS = {"N": 3, "D": 4, "layer": 0}


def two_layers() -> Graph:
    b = Builder("two")
    x = b.input("x", [N, D])
    h = b.linear(x, b.weight("first", [D, D]))
    return b.finish(b.add(x, b.linear(h, b.weight("second", [D, D]))))


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def test_frozen_weights_get_no_nodes() -> None:
    graph = two_layers()
    derivative = differentiate(graph, ["second"], seeds=(graph.outputs[0].name,))
    assert ops(derivative.backward) == ["linear_weight_backward"]
    assert [value.name for value in derivative.saved] == ["linear.1"]
    assert derivative.backward.parameters == ()


def test_only_inputs_wanted_saves_nothing() -> None:
    graph = two_layers()
    derivative = differentiate(graph, ["x"], seeds=(graph.outputs[0].name,))
    assert ops(derivative.backward) == ["linear_input_backward", "linear_input_backward", "add"]
    assert derivative.saved == ()
    assert [each.name for each in derivative.backward.parameters] == ["second", "first"]


def test_gradients_of_a_value_that_fans_out_are_added() -> None:
    b = Builder("fan")
    x = b.input("x", [N, D])
    graph = b.finish(b.add(b.one("multiply", x, x), x))
    derivative = check_gradients(graph, ["x"], random_inputs(graph, DIMS, 0), DIMS, seeds=(graph.outputs[0].name,))
    assert ops(derivative.backward).count("add") == 2


def test_a_dropped_accumulation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_only(builder: Builder, gradients: list[Value]) -> Value | None:
        return gradients[0] if gradients else None

    monkeypatch.setattr(autodiff, "sum_gradients", first_only)
    graph = two_layers()
    with pytest.raises(AssertionError):
        check_gradients(graph, ["x"], random_inputs(graph, DIMS, 0), DIMS, seeds=(graph.outputs[0].name,))


def test_a_dropped_pruning_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(node: Node, dependent: object) -> tuple[bool, ...]:
        return (True,) * len(node.inputs)

    monkeypatch.setattr(autodiff, "wanted_operands", everything)
    with pytest.raises(AssertionError):
        test_frozen_weights_get_no_nodes()


def test_unreachable_and_unknown_names_are_errors() -> None:
    b = Builder("apart")
    x, y = b.input("x", [N, D]), b.input("y", [N, D])
    graph = b.finish(b.scale(x, 2.0), b.scale(y, 2.0))
    with pytest.raises(GraphError, match="no gradient reaches 'y'"):
        differentiate(graph, ["y"], seeds=(graph.outputs[0].name,))
    with pytest.raises(GraphError, match="no input or parameter 'z'"):
        differentiate(graph, ["z"])
    with pytest.raises(GraphError, match="no output 'z'"):
        differentiate(graph, ["x"], seeds=("z",))


@st.composite
def random_graphs(draw: st.DrawFn) -> tuple[Graph, list[str]]:
    """A random network of ops on [N, D] values, and what to differentiate by."""
    b = Builder("random")
    values = [b.input("x", [N, D]), b.input("y", [N, D])]
    for index in range(draw(st.integers(1, 8))):
        pick = st.integers(0, len(values) - 1)
        one, two = values[draw(pick)], values[draw(pick)]
        op = draw(st.sampled_from(["add", "multiply", "swiglu", "scale", "linear", "bias", "norm"]))
        if op in ("add", "multiply", "swiglu"):
            values.append(b.one(op, one, two))
        elif op == "scale":
            values.append(b.scale(one, 0.7))
        elif op == "norm":
            values.append(b.rms_norm(one, b.weight(f"norm{index}", [D]), eps=0.1))
        else:
            bias = b.weight(f"bias{index}", [D]) if op == "bias" else None
            values.append(b.linear(one, b.weight(f"w{index}", [D, D]), bias))
    graph = b.finish(values[-1])
    reached = _reached(graph)
    names = [value.name for value in graph.inputs] + [parameter.name for parameter in graph.parameters]
    chosen = draw(st.lists(st.sampled_from([name for name in names if name in reached]), min_size=1, unique=True))
    return graph, chosen


def _reached(graph: Graph) -> set[str]:
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            needed.update(node.inputs)
    return {value.name for value in needed}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(random_graphs())
def test_random_graphs_agree_with_finite_differences(drawn: tuple[Graph, list[str]]) -> None:
    graph, wrt = drawn
    inputs = {name: array * 0.5 for name, array in random_inputs(graph, DIMS, 0).items()}
    derivative = check_gradients(graph, wrt, inputs, DIMS, seeds=(graph.outputs[0].name,))
    made = {value for node in derivative.backward.nodes for value in node.outputs}
    read = {value for node in derivative.backward.nodes for value in node.inputs}
    assert made <= read | set(derivative.gradients.values()) | _unasked_twins(derivative.backward)


def _unasked_twins(backward: Graph) -> set[Value]:
    """Second results of ops that make two gradients at once."""
    return {value for node in backward.nodes if len(node.outputs) > 1 for value in node.outputs}
