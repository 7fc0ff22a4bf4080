"""Attention's operands as one GEMM writes them: rows of qkv hold H heads of q, K of k, K of v, each HD wide.

rope_table:        table[n, i] = attention_scaling · (cos, sin)(positions[n] · inverse_frequencies[i]), fp32; one
                   for all layers of a program (share.py)
rope_packed:       turns the q and k heads of qkv in place, as `rope` does; v stays. Its gradient is itself, inverse.
qk_norm_rope:      qk[N, (H + K)·HD] = rope(rms_norm of each q and k head of qkv). qkv is handed on as it is: the
                   gradient needs q and k as they were, and attention reads v there. rstd is not kept but formed again.
qk_norm_rope_backward: in the gradient dqkv of (q, k after rotation, v) puts those before the norm in the place of the
                   first two: the gradient of qkv. …_weight_backward: the gradients of the norms' weights too, in fp32.
attention_packed:  q and k from the first columns of qk, v from the last of qkv (both are one value where nothing is
                   normed) → o[N, H·HD], lse[N, H]. Everything else as in `attention`.
attention_packed_backward: dqkv, the gradients of q, k and v side by side. Where qk is a value of its own, its gradient
                   travels in the first columns of the gradient of qkv, which `qk_norm_rope` handed on for that.
cached_attention_packed: as `cached_attention`.
"""

from __future__ import annotations

from engine.graph.dims import Size, size
from engine.graph.ops.attention import check_documents, check_rotation, check_scores, visible_pairs
from engine.graph.opspec import Backward, Call, Cost, Gradients, OpSpec, Types, pointwise, traffic
from engine.graph.types import DType, TensorType

FLOATS = (DType.F32, DType.BF16)


def _heads(call: Call) -> tuple[Size, Size, Size]:
    return call.size("heads"), call.size("kv_heads"), call.size("head_dim")


def _check_qkv(call: Call, operand: str = "qkv") -> None:
    heads, kv_heads, head_dim = _heads(call)
    tokens, _ = call.shape(operand, 2)
    call.expect_shape(operand, (tokens, (heads + kv_heads * 2) * head_dim), "heads, kv_heads and head_dim")
    call.expect_dtype(operand, *FLOATS)


def _check_qk(call: Call) -> None:
    heads, kv_heads, head_dim = _heads(call)
    if call["qk"] != call["qkv"]:
        call.expect_shape("qk", (call["qkv"].shape[0], (heads + kv_heads) * head_dim), f"operand 'qkv' {call['qkv']}")
        call.expect_dtype("qk", call["qkv"].dtype)


def _rotated(call: Call) -> Size:
    """Elements of the q and k heads."""
    heads, kv_heads, head_dim = _heads(call)
    return call["table"].shape[0] * (heads + kv_heads) * head_dim


def _infer_table(call: Call) -> Types:
    (tokens,) = call.shape("positions", 1)
    frequencies = check_rotation(call, tokens)
    return (TensorType((tokens, size(len(frequencies)), size(2)), DType.F32),)


def _check_table(call: Call) -> None:
    head_dim = call.size("head_dim")
    _, half, _ = call.shape("table", 3)
    call.expect_shape("table", (call["qkv"].shape[0], half, size(2)), f"operand 'qkv' {call['qkv']}")
    call.expect_dtype("table", DType.F32)
    if not head_dim.letters and half * 2 != head_dim:
        call.refuse(f"operand 'table' turns {half * 2} of {head_dim} dimensions")


def _infer_rope(call: Call) -> Types:
    _check_qkv(call)
    _check_table(call)
    call.flag("inverse")
    return (call["qkv"],)


def _cost_rope(call: Call, results: Types) -> Cost:
    elements = _rotated(call)
    return Cost(elements * 3, elements * (2 * call["qkv"].dtype.bytes) + call["table"].bytes)


def _differentiate_rope(back: Backward) -> Gradients:
    if not back.wanted[0]:
        return None, None
    attributes = {**back.node.attributes, "inverse": not back.node.attributes["inverse"]}
    return back.builder.one("rope_packed", back.upstream(), back.node.inputs[1], **attributes), None


def _check_norm(call: Call) -> None:
    _check_qkv(call)
    for operand in ("q_weight", "k_weight"):
        call.expect_shape(operand, (call.size("head_dim"),), "head_dim")
        call.expect_dtype(operand, call["qkv"].dtype)
    _check_table(call)
    call.number("eps")


def _infer_norm(call: Call) -> Types:
    _check_norm(call)
    heads, kv_heads, head_dim = _heads(call)
    qk = TensorType((call["qkv"].shape[0], (heads + kv_heads) * head_dim), call["qkv"].dtype)
    return qk, call["qkv"]


def _infer_norm_backward(call: Call) -> Types:
    _check_norm(call)
    call.expect_like("dqkv", "qkv")
    return (call["dqkv"],)


def _infer_norm_weight_backward(call: Call) -> Types:
    dweight = TensorType((call.size("head_dim"),), DType.F32)
    return *_infer_norm_backward(call), dweight, dweight


def _cost_norm(call: Call, results: Types) -> Cost:
    elements = _rotated(call)
    return Cost(elements * 8, elements * (2 * call["qkv"].dtype.bytes) + call["table"].bytes)


def _cost_norm_backward(call: Call, results: Types) -> Cost:
    elements = _rotated(call)
    return Cost(elements * 16, elements * (3 * call["qkv"].dtype.bytes) + call["table"].bytes)


def _differentiate_norm(back: Backward) -> Gradients:
    if not any(back.wanted):
        return None, None, None, None
    operands = (back.upstream(1), back.node.outputs[1], *back.node.inputs[1:])
    attributes = back.node.attributes
    if not (back.wanted[1] or back.wanted[2]):
        return back.builder.one("qk_norm_rope_backward", *operands, **attributes), None, None, None
    gradients = back.builder.emit("qk_norm_rope_weight_backward", *operands, **attributes)
    return back.asked(*gradients, None)


def _infer_attention(call: Call) -> Types:
    _check_qkv(call)
    _check_qk(call)
    check_scores(call)
    check_documents(call)
    heads, _, head_dim = _heads(call)
    tokens = call["qkv"].shape[0]
    return TensorType((tokens, heads * head_dim), call["qkv"].dtype), TensorType((tokens, heads), DType.F32)


def _differentiate_attention(back: Backward) -> Gradients:
    if not any(back.wanted):
        return None, None, None
    qk, qkv, documents = back.node.inputs
    o, lse = back.node.outputs
    operands = (back.upstream(), qk, qkv, o, lse, documents)
    return None, back.builder.one("attention_packed_backward", *operands, **back.node.attributes), None


def _infer_attention_backward(call: Call) -> Types:
    o, lse = _infer_attention(call)
    for operand, expected in (("do", o), ("o", o), ("lse", lse)):
        call.expect_shape(operand, expected.shape, f"operand 'qkv' {call['qkv']}")
        call.expect_dtype(operand, expected.dtype)
    return (call["qkv"],)


def _attention_cost(call: Call, results: Types, factor: int) -> Cost:
    heads, _, head_dim = _heads(call)
    pairs = visible_pairs(call, call["qkv"].shape[0], call.size("longest"))
    factor = factor if call.flag("causal") else 2 * factor
    moved = traffic(call, results) - call["qk"].bytes - call["qkv"].bytes + _qkv_bytes(call)
    return Cost(pairs * heads * head_dim * factor, moved)


def _qkv_bytes(call: Call) -> Size:
    """q, k and v read once, wherever they lie."""
    heads, kv_heads, head_dim = _heads(call)
    return call["qkv"].shape[0] * (heads + kv_heads * 2) * head_dim * call["qkv"].dtype.bytes


def _cost_attention(call: Call, results: Types) -> Cost:
    return _attention_cost(call, results, 2)


def _cost_attention_backward(call: Call, results: Types) -> Cost:
    return _attention_cost(call, results, 5)


def _infer_cached_attention(call: Call) -> Types:
    _check_qkv(call)
    _check_qk(call)
    check_scores(call)
    heads, kv_heads, head_dim = _heads(call)
    context, _, _ = call.shape("k_cache", 3)
    call.expect_shape("k_cache", (context, kv_heads, head_dim), "kv_heads and head_dim")
    call.expect_dtype("k_cache", call["qkv"].dtype)
    call.expect_like("v_cache", "k_cache")
    call.expect_shape("cache_length", (size(1),), "one sequence")
    call.expect_dtype("cache_length", DType.I32)
    o = TensorType((call["qkv"].shape[0], heads * head_dim), call["qkv"].dtype)
    return o, call["k_cache"], call["v_cache"]


def _cost_cached_attention(call: Call, results: Types) -> Cost:
    heads, _, head_dim = _heads(call)
    tokens = call["qkv"].shape[0]
    pairs = visible_pairs(call, tokens, call["k_cache"].shape[0]) * 2
    return Cost(pairs * heads * head_dim * 2, _qkv_bytes(call) + results[0].bytes + call["k_cache"].bytes * 2)


NORM = ("qkv", "q_weight", "k_weight", "table")

SPECS = (
    OpSpec("rope_table", ("positions",), ("table",), _infer_table, pointwise(40)),
    OpSpec("rope_packed", ("qkv", "table"), ("qkv",), _infer_rope, _cost_rope, _differentiate_rope, {0: 0}),
    OpSpec("qk_norm_rope", NORM, ("qk", "qkv"), _infer_norm, _cost_norm, _differentiate_norm, {1: 0}),
    OpSpec(
        "qk_norm_rope_backward",
        ("dqkv", *NORM),
        ("dqkv",),
        _infer_norm_backward,
        _cost_norm_backward,
        updates={0: 0},
    ),
    OpSpec(
        "qk_norm_rope_weight_backward",
        ("dqkv", *NORM),
        ("dqkv", "dq_weight", "dk_weight"),
        _infer_norm_weight_backward,
        _cost_norm_backward,
        updates={0: 0},
    ),
    OpSpec(
        "attention_packed",
        ("qk", "qkv", "documents"),
        ("o", "lse"),
        _infer_attention,
        _cost_attention,
        _differentiate_attention,
    ),
    OpSpec(
        "attention_packed_backward",
        ("do", "qk", "qkv", "o", "lse", "documents"),
        ("dqkv",),
        _infer_attention_backward,
        _cost_attention_backward,
    ),
    OpSpec(
        "cached_attention_packed",
        ("qk", "qkv", "k_cache", "v_cache", "cache_length"),
        ("o", "k_cache", "v_cache"),
        _infer_cached_attention,
        _cost_cached_attention,
        updates={1: 2, 2: 3},
    ),
)
