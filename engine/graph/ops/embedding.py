"""Rows of a table by token id.

embedding:           x[n] = weight[ids[n]]
embedding_backward:  dweight[v] = Σ dy[n] over the n with ids[n] = v, in ascending n; zero rows for ids never seen
select_row:          y[0] = x[row[0]]: the one position whose logits a generation step needs
"""

from __future__ import annotations

from engine.graph.dims import size
from engine.graph.opspec import Backward, Call, Cost, Gradients, OpSpec, Types, pointwise, traffic
from engine.graph.types import DType, TensorType

FLOATS = (DType.F32, DType.BF16)


def _infer_embedding(call: Call) -> Types:
    (tokens,) = call.shape("ids", 1)
    _, hidden = call.shape("weight", 2)
    call.expect_dtype("ids", DType.I32)
    call.expect_dtype("weight", *FLOATS)
    return (TensorType((tokens, hidden), call["weight"].dtype),)


def _differentiate_embedding(back: Backward) -> Gradients:
    ids, weight = back.node.inputs
    if not back.wanted[1]:
        return None, None
    vocabulary = weight.type.shape[0]
    return None, back.builder.one("embedding_backward", ids, back.upstream(), vocabulary=vocabulary)


def _cost_embedding(call: Call, results: Types) -> Cost:
    return Cost(size(0), results[0].bytes * 2 + call["ids"].bytes)


def _infer_embedding_backward(call: Call) -> Types:
    (tokens,) = call.shape("ids", 1)
    call.expect_dtype("ids", DType.I32)
    _, hidden = call.shape("dy", 2)
    call.expect_shape("dy", (tokens, hidden), f"operand 'ids' {call['ids']}")
    call.expect_dtype("dy", *FLOATS)
    return (TensorType((call.size("vocabulary"), hidden), DType.F32),)


def _cost_embedding_backward(call: Call, results: Types) -> Cost:
    return Cost(call["dy"].elements, traffic(call, results))


def _infer_select_row(call: Call) -> Types:
    _, hidden = call.shape("x", 2)
    call.expect_shape("row", (size(1),), "selecting one row")
    call.expect_dtype("row", DType.I32)
    return (TensorType((size(1), hidden), call["x"].dtype),)


SPECS = (
    OpSpec("embedding", ("ids", "weight"), ("x",), _infer_embedding, _cost_embedding, _differentiate_embedding),
    OpSpec("embedding_backward", ("ids", "dy"), ("dweight",), _infer_embedding_backward, _cost_embedding_backward),
    OpSpec("select_row", ("x", "row"), ("y",), _infer_select_row, pointwise(0)),
)
