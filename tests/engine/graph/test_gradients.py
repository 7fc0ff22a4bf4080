"""Every op's gradient against finite differences in float64."""

from __future__ import annotations

import numpy as np
import pytest

from engine.graph.autodiff import differentiate
from engine.graph.builder import Builder
from engine.graph.catalogue import CATALOGUE
from engine.graph.dims import HD, D, F, H, K, M, N, V
from engine.graph.errors import GraphError
from engine.graph.graph import Attribute, Graph
from engine.graph.types import DType
from tests.helpers.finite_differences import check_gradients
from tests.helpers.numpy_formulas import Array
from tests.helpers.numpy_graph import random_inputs

DIMS = {"N": 7, "D": 6, "F": 5, "H": 4, "K": 2, "HD": 6, "V": 9, "M": 3, "T": 7, "chunk_tokens": 3, "layer": 1}
POSITIONS = np.array([0, 1, 2, 0, 1, 0, 1])
DOCUMENTS = np.array([0, 3, 5, 5])  # two documents, one unused, two tokens of padding


def pointwise(op: str, operands: int, **attributes: float) -> Graph:
    b = Builder(op)
    inputs = [b.input(f"x{index}", [N, D]) for index in range(operands)]
    return b.finish(b.one(op, *inputs, **attributes))


@pytest.mark.parametrize(
    "graph",
    [pointwise("add", 2), pointwise("multiply", 2), pointwise("scale", 1, factor=-1.5), pointwise("swiglu", 2)],
    ids=lambda graph: graph.name,
)
def test_pointwise(graph: Graph) -> None:
    inputs = [value.name for value in graph.inputs]
    given = random_inputs(graph, DIMS, 1)
    check_gradients(graph, inputs, given, DIMS, seeds=(graph.outputs[0].name,))
    for one in inputs:
        check_gradients(graph, [one], given, DIMS, seeds=(graph.outputs[0].name,))


def test_dropout_uses_the_same_mask_backwards() -> None:
    b = Builder("dropout")
    x, state = b.input("x", [N, D]), b.input("input/step_state", [4], DType.I64)
    graph = b.finish(b.dropout(x, state, probability=0.4, purpose=300, layer=2))
    given = {**random_inputs(graph, DIMS, 2), "input/step_state": np.array([5, 1, 0, 0])}
    check_gradients(graph, ["x"], given, DIMS, seeds=(graph.outputs[0].name,))


def test_cast_and_reshape() -> None:
    b = Builder("views")
    x = b.input("x", [N, H * HD])
    y = b.one("cast", b.one("cast", x, dtype=DType.BF16), dtype=DType.F32)
    graph = b.finish(b.scale(b.reshape(y, [N, H, HD]), 2.0))
    derivative = check_gradients(graph, ["x"], random_inputs(graph, DIMS, 3), DIMS, seeds=(graph.outputs[0].name,))
    assert derivative.gradients["x"].type == x.type
    assert not derivative.saved


def test_rms_norm_of_tokens_and_of_heads() -> None:
    b = Builder("norms")
    x = b.input("x", [N, H, HD])
    heads = b.rms_norm(x, b.weight("head", [HD]), eps=1e-5)
    graph = b.finish(b.rms_norm(b.reshape(heads, [N, H * HD]), b.weight("token", [H * HD]), eps=1e-5))
    given = random_inputs(graph, DIMS, 4)
    check_gradients(graph, ["x", "head", "token"], given, DIMS, seeds=(graph.outputs[0].name,))


def test_linear_with_bias() -> None:
    b = Builder("linear")
    graph = b.finish(b.linear(b.input("x", [N, D]), b.weight("w", [F, D]), b.weight("bias", [F])))
    given = random_inputs(graph, DIMS, 5)
    check_gradients(graph, ["x", "w", "bias"], given, DIMS, seeds=(graph.outputs[0].name,))


def test_embedding_of_repeated_ids() -> None:
    b = Builder("embedding")
    graph = b.finish(b.embedding(b.input("input/ids", [N], DType.I32), b.weight("table", [V, D])))
    given = {**random_inputs(graph, DIMS, 6), "input/ids": np.array([3, 3, 0, 8, 3, 0, 1])}
    check_gradients(graph, ["table"], given, DIMS, seeds=(graph.outputs[0].name,))


def attention_graph(window: int | None, causal: bool = True) -> tuple[Graph, dict[str, Array]]:
    b = Builder("attention")
    positions = b.input("input/positions", [N], DType.I32)
    documents = b.input("input/documents", [M + 1], DType.I32)
    q, k, v = b.input("q", [N, H, HD]), b.input("k", [N, K, HD]), b.input("v", [N, K, HD])
    frequencies = (1.0, 0.3, 0.02)
    q, k = b.rope(q, positions, frequencies, 1.2), b.rope(k, positions, frequencies)
    graph = b.finish(b.attention(q, k, v, documents, scale=0.4, causal=causal, window=window))
    given = {**random_inputs(graph, DIMS, 7), "input/positions": POSITIONS, "input/documents": DOCUMENTS}
    return graph, given


@pytest.mark.parametrize(("window", "causal"), [(None, True), (2, True), (None, False)])
def test_rope_and_attention_over_documents_with_grouped_heads(window: int | None, causal: bool) -> None:
    graph, given = attention_graph(window, causal)
    check_gradients(graph, ["q", "k", "v"], given, DIMS, seeds=(graph.outputs[0].name,))
    check_gradients(graph, ["v"], given, DIMS, seeds=(graph.outputs[0].name,))


PACKED: dict[str, Attribute] = {"heads": H, "kv_heads": K, "head_dim": HD}
ROTATION: dict[str, Attribute] = {"inverse_frequencies": (1.0, 0.3, 0.02), "attention_scaling": 1.2}


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("normed", [False, True])
def test_packed_rotation_norm_and_attention(window: int | None, normed: bool) -> None:
    b = Builder("packed")
    positions = b.input("input/positions", [N], DType.I32)
    documents = b.input("input/documents", [M + 1], DType.I32)
    table = b.one("rope_table", positions, **ROTATION)
    weights = ["q_norm", "k_norm"] if normed else []
    qkv = b.linear(b.input("x", [N, D]), b.weight("qkv", [(H + K * 2) * HD, D]))
    if normed:
        norms = [b.weight(name, [HD]) for name in weights]
        qk, qkv = b.emit("qk_norm_rope", qkv, *norms, table, eps=1e-5, **PACKED)
    else:
        qk = qkv = b.one("rope_packed", qkv, table, inverse=False, **PACKED)
    how: dict[str, Attribute] = {"causal": True, "window": window, "scale": 0.4, "longest": N}
    o, _ = b.emit("attention_packed", qk, qkv, documents, **how, **PACKED)
    graph = b.finish(o)
    given = {**random_inputs(graph, DIMS, 9), "input/positions": POSITIONS, "input/documents": DOCUMENTS}
    check_gradients(graph, ["x", "qkv", *weights], given, DIMS, seeds=(o.name,))
    derivative = check_gradients(graph, ["x"], given, DIMS, seeds=(o.name,))
    assert not any(node.op == "qk_norm_rope_weight_backward" for node in derivative.backward.nodes)
    if normed:
        check_gradients(graph, ["k_norm"], given, DIMS, seeds=(o.name,))


def test_packed_swiglu() -> None:
    b = Builder("swiglu_packed")
    graph = b.finish(b.one("swiglu_packed", b.input("x", [N, F * 2]), width=F))
    check_gradients(graph, ["x"], random_inputs(graph, DIMS, 10), DIMS, seeds=(graph.outputs[0].name,))


@pytest.mark.parametrize(("starts", "widths"), [((0,), (6,)), ((1,), (4,)), ((0, 3, 4), (3, 1, 2)), ((0, 5), (2, 1))])
def test_products_into_columns(starts: tuple[int, ...], widths: tuple[int, ...]) -> None:
    b = Builder("segments")
    y = b.linear(b.input("y", [N, F]), b.weight("base", [6, F]))
    x = b.input("x", [N, 2 * len(widths)])
    weight = b.weight("up", [sum(widths), 2])
    where: dict[str, Attribute] = {"starts": starts, "widths": widths, "rank": 2, "factor": -0.75}
    graph = b.finish(b.one("linear_segments", y, x, weight, **where))
    check_gradients(graph, ["y", "x", "up"], random_inputs(graph, DIMS, 11), DIMS, seeds=(graph.outputs[0].name,))


@pytest.mark.parametrize("starts", [(0, 2), (0, 4), (3, 0), (-1, 3), (0,)])
def test_columns_that_overlap_or_lie_outside_are_refused(starts: tuple[int, ...]) -> None:
    b = Builder("segments")
    y, x, weight = b.input("y", [N, 6]), b.input("x", [N, 4]), b.weight("up", [6, 2])
    with pytest.raises(GraphError, match=r"segments .* do not lie one after the other|1 starts and 2 widths"):
        b.one("linear_segments", y, x, weight, starts=starts, widths=(3, 3), rank=2, factor=1.0)


def head_graph() -> Graph:
    b = Builder("head")
    x = b.input("x", [N, D])
    targets, weights = b.input("input/targets", [N], DType.I32), b.input("input/loss_weights", [N])
    h = b.rms_norm(x, b.weight("norm", [D]), eps=1e-5)
    return b.finish(*b.head_loss(h, b.weight("table", [V, D]), targets, weights))


def test_head_loss_starts_the_gradient_itself() -> None:
    graph = head_graph()
    weights = np.array([1.0, 0.0, 0.5, 1.0, 0.0, 2.0, 1.0])
    targets = np.array([1, -100, 8, 0, 3, 3, 2])
    given = {**random_inputs(graph, DIMS, 8), "input/targets": targets, "input/loss_weights": weights}
    loss = graph.outputs[0].name
    derivative = check_gradients(graph, ["x", "norm", "table"], given, DIMS, loss=loss)
    assert [node.op for node in derivative.backward.nodes] == ["rms_norm_backward", "rms_norm_weight_backward"]


def test_every_differentiable_op_is_checked_here() -> None:
    """An op that gains a gradient must gain a check: the list is what the tests of this file differentiate."""
    checked = {
        "add", "multiply", "scale", "swiglu", "dropout", "cast", "reshape", "rms_norm", "linear", "bias_add",
        "embedding", "rope", "attention", "head_loss", "rope_packed", "qk_norm_rope", "attention_packed",
        "swiglu_packed", "linear_segments",
    }  # fmt: skip
    assert {name for name, spec in CATALOGUE.items() if spec.differentiate is not None} == checked


def test_an_op_without_a_gradient_is_named() -> None:
    b = Builder("row")
    x = b.input("x", [N, D])
    graph = b.finish(b.one("select_row", x, b.input("row", [1], DType.I32)))
    with pytest.raises(GraphError, match=r"select_row.*no gradient"):
        differentiate(graph, ["x"], seeds=(graph.outputs[0].name,))
