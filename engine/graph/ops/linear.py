"""Matrix products in Hugging Face's weight layout [out, in], and biases.

linear:                  y[N, O] = x[N, I] · weight[O, I]ᵀ
linear_input_backward:   dx[N, I] = dy[N, O] · weight[O, I]
linear_weight_backward:  dweight[O, I] = dy[N, O]ᵀ · x[N, I], in fp32
bias_add, bias_backward: y = x + bias;  dbias = Σ dy over tokens, in fp32
"""

from __future__ import annotations

from engine.graph.opspec import Backward, Call, Cost, Gradients, OpSpec, Types, pointwise, traffic
from engine.graph.types import DType, TensorType

FLOATS = (DType.F32, DType.BF16)


def _infer_linear(call: Call) -> Types:
    tokens, _ = call.shape("x", 2)
    outputs, inputs = call.shape("weight", 2)
    call.expect_dtype("x", *FLOATS)
    call.expect_dtype("weight", call["x"].dtype)
    call.expect_shape("x", (tokens, inputs), f"operand 'weight' {call['weight']}")
    return (TensorType((tokens, outputs), call["x"].dtype),)


def _differentiate_linear(back: Backward) -> Gradients:
    x, weight = back.node.inputs
    dy = back.upstream()
    dx = back.builder.one("linear_input_backward", dy, weight) if back.wanted[0] else None
    dweight = back.builder.one("linear_weight_backward", dy, x) if back.wanted[1] else None
    return dx, dweight


def _infer_input_backward(call: Call) -> Types:
    tokens, _ = call.shape("dy", 2)
    outputs, inputs = call.shape("weight", 2)
    call.expect_dtype("weight", call["dy"].dtype)
    call.expect_shape("dy", (tokens, outputs), f"operand 'weight' {call['weight']}")
    return (TensorType((tokens, inputs), call["dy"].dtype),)


def _infer_weight_backward(call: Call) -> Types:
    tokens, outputs = call.shape("dy", 2)
    _, inputs = call.shape("x", 2)
    call.expect_dtype("x", call["dy"].dtype)
    call.expect_shape("x", (tokens, inputs), f"operand 'dy' {call['dy']}")
    return (TensorType((outputs, inputs), DType.F32),)


def _cost_linear(call: Call, results: Types) -> Cost:
    return Cost(results[0].elements * call["x"].shape[1] * 2, traffic(call, results))


def _cost_input_backward(call: Call, results: Types) -> Cost:
    return Cost(results[0].elements * call["dy"].shape[1] * 2, traffic(call, results))


def _cost_weight_backward(call: Call, results: Types) -> Cost:
    return Cost(results[0].elements * call["dy"].shape[0] * 2, traffic(call, results))


def _infer_bias_add(call: Call) -> Types:
    _, outputs = call.shape("x", 2)
    call.expect_shape("bias", (outputs,), f"operand 'x' {call['x']}")
    call.expect_dtype("bias", call["x"].dtype)
    return (call["x"],)


def _differentiate_bias_add(back: Backward) -> Gradients:
    dy = back.upstream()
    return dy if back.wanted[0] else None, back.builder.one("bias_backward", dy) if back.wanted[1] else None


def _infer_bias_backward(call: Call) -> Types:
    _, outputs = call.shape("dy", 2)
    return (TensorType((outputs,), DType.F32),)


def _cost_bias_backward(call: Call, results: Types) -> Cost:
    return Cost(call["dy"].elements, traffic(call, results))


SPECS = (
    OpSpec("linear", ("x", "weight"), ("y",), _infer_linear, _cost_linear, _differentiate_linear),
    OpSpec("linear_input_backward", ("dy", "weight"), ("dx",), _infer_input_backward, _cost_input_backward),
    OpSpec("linear_weight_backward", ("dy", "x"), ("dweight",), _infer_weight_backward, _cost_weight_backward),
    OpSpec(
        "bias_add",
        ("x", "bias"),
        ("y",),
        _infer_bias_add,
        pointwise(1),
        _differentiate_bias_add,
        may_overwrite=(0,),
    ),
    OpSpec("bias_backward", ("dy",), ("dbias",), _infer_bias_backward, _cost_bias_backward),
)
