"""Root-mean-square normalisation over the last dimension, of hidden states [N, D] or of heads [N, H, HD].

rms_norm:                  rstd = 1 / sqrt(mean(x²) + eps) in fp32;  y = (x · rstd) · weight
rms_norm_backward:         g = dy · weight, n = x · rstd;  dx = rstd · (g − n · mean(g · n))
rms_norm_weight_backward:  dweight = Σ over all leading positions of dy · x · rstd
add_rms_norm:              sum = x + residual, then y and rstd of the (rounded) sum
rms_norm_residual_backward: dx = dresidual + the dx of rms_norm_backward, rounded once; …_weight_backward: dweight too

The last two are made by fold.py, after differentiation, and have no gradient themselves.
"""

from __future__ import annotations

from engine.graph.opspec import Backward, Call, Cost, Gradients, OpSpec, Types, pointwise, traffic
from engine.graph.types import DType, TensorType


def _check_input(call: Call) -> None:
    if len(call["x"].shape) < 2:
        call.refuse(f"operand 'x' has type {call['x']}, but needs at least two dimensions")
    call.expect_dtype("x", DType.F32, DType.BF16)


def _check_weight(call: Call) -> None:
    call.expect_shape("weight", call["x"].shape[-1:], f"operand 'x' {call['x']}")
    call.expect_dtype("weight", call["x"].dtype)


def _check_rstd(call: Call) -> None:
    call.expect_shape("rstd", call["x"].shape[:-1], f"operand 'x' {call['x']}")
    call.expect_dtype("rstd", DType.F32)


def _infer_rms_norm(call: Call) -> Types:
    _check_input(call)
    _check_weight(call)
    call.number("eps")
    return call["x"], TensorType(call["x"].shape[:-1], DType.F32)


def _differentiate_rms_norm(back: Backward) -> Gradients:
    x, weight = back.node.inputs
    rstd = back.node.outputs[1]
    dy = back.upstream()
    b = back.builder
    dx = b.one("rms_norm_backward", dy, x, weight, rstd) if back.wanted[0] else None
    dweight = b.one("rms_norm_weight_backward", dy, x, rstd) if back.wanted[1] else None
    return dx, dweight


def _infer_backward(call: Call) -> Types:
    _check_input(call)
    _check_weight(call)
    _check_rstd(call)
    call.expect_like("dy", "x")
    return (call["x"],)


def _infer_weight_backward(call: Call) -> Types:
    _check_input(call)
    _check_rstd(call)
    call.expect_like("dy", "x")
    return (TensorType(call["x"].shape[-1:], DType.F32),)


def _cost_weight_backward(call: Call, results: Types) -> Cost:
    return Cost(call["x"].elements * 3, traffic(call, results))


def _infer_add(call: Call) -> Types:
    y, rstd = _infer_rms_norm(call)
    call.expect_like("residual", "x")
    return call["x"], y, rstd


def _infer_residual_backward(call: Call) -> Types:
    call.expect_like("dresidual", "x")
    return _infer_backward(call)


def _infer_residual_weight_backward(call: Call) -> Types:
    return *_infer_residual_backward(call), TensorType(call["x"].shape[-1:], DType.F32)


UPSTREAM = ("dy", "x", "weight", "rstd", "dresidual")

SPECS = (
    OpSpec("add_rms_norm", ("x", "residual", "weight"), ("sum", "y", "rstd"), _infer_add, pointwise(5)),
    OpSpec("rms_norm_residual_backward", UPSTREAM, ("dx",), _infer_residual_backward, pointwise(9)),
    OpSpec(
        "rms_norm_residual_weight_backward",
        UPSTREAM,
        ("dx", "dweight"),
        _infer_residual_weight_backward,
        pointwise(12),
    ),
    OpSpec("rms_norm", ("x", "weight"), ("y", "rstd"), _infer_rms_norm, pointwise(4), _differentiate_rms_norm),
    OpSpec("rms_norm_backward", ("dy", "x", "weight", "rstd"), ("dx",), _infer_backward, pointwise(8)),
    OpSpec(
        "rms_norm_weight_backward", ("dy", "x", "rstd"), ("dweight",), _infer_weight_backward, _cost_weight_backward
    ),
)
