"""Element by element, and changes of shape or dtype.

add, multiply:    z = x + y, z = x · y, same types
scale:            y = factor · x
swiglu:           y = silu(gate) · up, silu(g) = g · sigmoid(g); swiglu_backward gives both gradients
swiglu_packed:    the same with gate and up side by side, gate_up[N, 2·width]
dropout:          y = x / (1 − probability) where the element's Philox word is not below probability · 2³², else 0.
                  The word is a function of seed, purpose, step, micro-batch, layer and element index alone, so the
                  gradient and a recomputation are the same op on other data. step_state = (seed, step, micro_batch, 0)
cast:             y = x in another dtype
reshape:          the same row-major elements under another shape: a view
"""

from __future__ import annotations

from engine.graph.dims import Size, size
from engine.graph.opspec import Backward, Call, Gradients, OpSpec, Types, pointwise
from engine.graph.types import DType, TensorType, shape_text

FLOATS = (DType.F32, DType.BF16)


def _infer_pair(call: Call) -> Types:
    call.expect_dtype("x", *FLOATS)
    call.expect_like("y", "x")
    return (call["x"],)


def _differentiate_add(back: Backward) -> Gradients:
    dz = back.upstream()
    return back.asked(dz, dz)


def _differentiate_multiply(back: Backward) -> Gradients:
    x, y = back.node.inputs
    dz = back.upstream()
    dx = back.builder.one("multiply", dz, y) if back.wanted[0] else None
    dy = back.builder.one("multiply", dz, x) if back.wanted[1] else None
    return dx, dy


def _infer_scale(call: Call) -> Types:
    call.expect_dtype("x", *FLOATS)
    call.number("factor")
    return (call["x"],)


def _differentiate_scale(back: Backward) -> Gradients:
    if not back.wanted[0]:
        return (None,)
    return (back.builder.one("scale", back.upstream(), factor=back.node.attributes["factor"]),)


def _infer_swiglu(call: Call) -> Types:
    call.expect_dtype("gate", *FLOATS)
    call.expect_like("up", "gate")
    return (call["gate"],)


def _differentiate_swiglu(back: Backward) -> Gradients:
    if not any(back.wanted):
        return None, None
    return back.asked(*back.builder.emit("swiglu_backward", back.upstream(), *back.node.inputs))


def _infer_swiglu_backward(call: Call) -> Types:
    call.expect_dtype("gate", *FLOATS)
    call.expect_like("up", "gate")
    call.expect_like("dy", "gate")
    return call["gate"], call["up"]


def _infer_swiglu_packed(call: Call) -> Types:
    tokens, _ = call.shape("gate_up", 2)
    width = call.size("width")
    call.expect_dtype("gate_up", *FLOATS)
    call.expect_shape("gate_up", (tokens, width * 2), "width")
    return (TensorType((tokens, width), call["gate_up"].dtype),)


def _differentiate_swiglu_packed(back: Backward) -> Gradients:
    if not back.wanted[0]:
        return (None,)
    operands = (back.upstream(), back.node.inputs[0])
    return (back.builder.one("swiglu_packed_backward", *operands, **back.node.attributes),)


def _infer_swiglu_packed_backward(call: Call) -> Types:
    (y,) = _infer_swiglu_packed(call)
    call.expect_shape("dy", y.shape, f"operand 'gate_up' {call['gate_up']}")
    call.expect_dtype("dy", y.dtype)
    return (call["gate_up"],)


def _infer_dropout(call: Call) -> Types:
    call.expect_dtype("x", *FLOATS)
    call.expect_shape("step_state", (size(4),), "(seed, step, micro_batch, 0)")
    call.expect_dtype("step_state", DType.I64)
    if not 0.0 < call.number("probability") < 1.0:
        call.refuse(f"attribute 'probability' is {call.attributes['probability']}, but must lie between 0 and 1")
    call.size("purpose")
    call.size("layer")
    return (call["x"],)


def _differentiate_dropout(back: Backward) -> Gradients:
    if not back.wanted[0]:
        return None, None
    step_state = back.node.inputs[1]
    return back.builder.one("dropout", back.upstream(), step_state, **back.node.attributes), None


def _infer_cast(call: Call) -> Types:
    call.expect_dtype("x", *FLOATS)
    dtype = call.attribute("dtype")
    if not isinstance(dtype, DType) or not dtype.is_float:
        call.refuse(f"attribute 'dtype' is {dtype!r}, but must be a floating point type")
    return (TensorType(call["x"].shape, dtype),)


def _differentiate_cast(back: Backward) -> Gradients:
    if not back.wanted[0]:
        return (None,)
    return (back.builder.one("cast", back.upstream(), dtype=back.node.inputs[0].type.dtype),)


def _infer_reshape(call: Call) -> Types:
    raw = call.attribute("shape")
    if not isinstance(raw, tuple):
        call.refuse("attribute 'shape' must be a tuple of sizes")
    shape = tuple(size(each) for each in raw if isinstance(each, (int, Size)))
    result = TensorType(shape, call["x"].dtype)
    if len(shape) != len(raw) or result.elements != call["x"].elements:
        call.refuse(f"operand 'x' has shape {shape_text(call['x'].shape)}, which cannot become {shape_text(shape)}")
    return (result,)


def _differentiate_reshape(back: Backward) -> Gradients:
    if not back.wanted[0]:
        return (None,)
    return (back.builder.one("reshape", back.upstream(), shape=back.node.inputs[0].type.shape),)


SPECS = (
    OpSpec("add", ("x", "y"), ("z",), _infer_pair, pointwise(1), _differentiate_add, may_overwrite=(0, 1)),
    OpSpec("multiply", ("x", "y"), ("z",), _infer_pair, pointwise(1), _differentiate_multiply, may_overwrite=(0, 1)),
    OpSpec("scale", ("x",), ("y",), _infer_scale, pointwise(1), _differentiate_scale, may_overwrite=(0,)),
    OpSpec("swiglu", ("gate", "up"), ("y",), _infer_swiglu, pointwise(5), _differentiate_swiglu, may_overwrite=(0, 1)),
    OpSpec("swiglu_backward", ("dy", "gate", "up"), ("dgate", "dup"), _infer_swiglu_backward, pointwise(10)),
    OpSpec("swiglu_packed", ("gate_up",), ("y",), _infer_swiglu_packed, pointwise(5), _differentiate_swiglu_packed),
    OpSpec(
        "swiglu_packed_backward",
        ("dy", "gate_up"),
        ("dgate_up",),
        _infer_swiglu_packed_backward,
        pointwise(5),
        may_overwrite=(1,),
    ),
    OpSpec(
        "dropout",
        ("x", "step_state"),
        ("y",),
        _infer_dropout,
        pointwise(12),
        _differentiate_dropout,
        may_overwrite=(0,),
    ),
    OpSpec("cast", ("x",), ("y",), _infer_cast, pointwise(0), _differentiate_cast),
    OpSpec(
        "reshape",
        ("x",),
        ("y",),
        _infer_reshape,
        pointwise(0),
        _differentiate_reshape,
        is_view=True,
    ),
)
