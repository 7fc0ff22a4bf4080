"""Rotary positions and attention over packed documents, in the flat token layout.

rope:              rotates each pair (x[i], x[i + HD/2]) by positions[n] · inverse_frequencies[i], both scaled by
                   attention_scaling (Hugging Face's half-split form); `inverse` rotates back: that is the gradient.
attention:         within each document, o = softmax(scale · q kᵀ + mask) v; head h of q reads head h·K/H of k and v.
                   documents[M+1] holds cumulative token offsets, non-decreasing; tokens past the last are padding
                   (o = 0, lse = 0). window w: a query sees itself and the w − 1 tokens before it. lse: the
                   logarithm of the sum of exponentials, fp32. `longest`: no document has more tokens than this.
cached_attention:  one sequence. Writes k, v at rows cache_length … cache_length + N − 1 of the caches (rows past the
                   end are dropped), then query n sees cache rows 0 … cache_length + n.
"""

from __future__ import annotations

from engine.graph.dims import Size, size
from engine.graph.graph import Scalar
from engine.graph.opspec import Backward, Call, Cost, Gradients, OpSpec, Types, pointwise, traffic
from engine.graph.types import DType, TensorType

FLOATS = (DType.F32, DType.BF16)


def check_rotation(call: Call, tokens: Size) -> tuple[Scalar, ...]:
    """Operand positions and the attributes of a rotation of `tokens` rows; its frequencies."""
    call.expect_shape("positions", (tokens,), f"{tokens} tokens")
    call.expect_dtype("positions", DType.I32)
    frequencies = call.attribute("inverse_frequencies")
    call.number("attention_scaling")
    if not isinstance(frequencies, tuple):
        call.refuse("attribute 'inverse_frequencies' must be a tuple of numbers")
    return frequencies


def _infer_rope(call: Call) -> Types:
    tokens, _, head_dim = call.shape("x", 3)
    call.expect_dtype("x", *FLOATS)
    frequencies = check_rotation(call, tokens)
    call.flag("inverse")
    if not head_dim.letters and size(2 * len(frequencies)) != head_dim:
        call.refuse(f"{len(frequencies)} inverse frequencies rotate {2 * len(frequencies)} of {head_dim} dimensions")
    return (call["x"],)


def _differentiate_rope(back: Backward) -> Gradients:
    if not back.wanted[0]:
        return None, None
    attributes = {**back.node.attributes, "inverse": not back.node.attributes["inverse"]}
    return back.builder.one("rope", back.upstream(), back.node.inputs[1], **attributes), None


def _check_heads(call: Call) -> None:
    tokens, _, head_dim = call.shape("q", 3)
    _, kv_heads, _ = call.shape("k", 3)
    call.expect_dtype("q", *FLOATS)
    call.expect_shape("k", (tokens, kv_heads, head_dim), f"operand 'q' {call['q']}")
    call.expect_dtype("k", call["q"].dtype)
    call.expect_like("v", "k")
    check_scores(call)


def check_scores(call: Call) -> None:
    """The attributes scale and window."""
    call.number("scale")
    window = call.attribute("window")
    if window is not None and (not isinstance(window, int) or window < 1):
        call.refuse(f"attribute 'window' is {window!r}, but must be a positive number of tokens or None")


def check_documents(call: Call) -> None:
    """Operand documents, and the attributes causal and longest."""
    call.shape("documents", 1)
    call.expect_dtype("documents", DType.I32)
    call.flag("causal")
    call.size("longest")


def _infer_attention(call: Call) -> Types:
    _check_heads(call)
    check_documents(call)
    return call["q"], TensorType(call["q"].shape[:2], DType.F32)


def _differentiate_attention(back: Backward) -> Gradients:
    if not any(back.wanted):
        return None, None, None, None
    q, k, v, documents = back.node.inputs
    o, lse = back.node.outputs
    dq, dk, dv = back.builder.emit(
        "attention_backward", back.upstream(), q, k, v, o, lse, documents, **back.node.attributes
    )
    return back.asked(dq, dk, dv, None)


def _infer_attention_backward(call: Call) -> Types:
    _check_heads(call)
    check_documents(call)
    call.expect_like("do", "q")
    call.expect_like("o", "q")
    call.expect_shape("lse", call["q"].shape[:2], f"operand 'q' {call['q']}")
    call.expect_dtype("lse", DType.F32)
    return call["q"], call["k"], call["v"]


def visible_pairs(call: Call, tokens: Size, longest: Size) -> Size:
    """Query-key pairs a head looks at, times two: causal halves them; a window bounds them."""
    window = call.attributes["window"]
    if isinstance(window, int) and not longest.letters and window < longest.evaluate({}):
        return tokens * window * 2
    return tokens * longest


def _cost_attention(call: Call, results: Types) -> Cost:
    tokens, heads, head_dim = call["q"].shape
    pairs = visible_pairs(call, tokens, call.size("longest"))
    factor = 2 if call.flag("causal") else 4
    return Cost(pairs * heads * head_dim * factor, traffic(call, results))


def _cost_attention_backward(call: Call, results: Types) -> Cost:
    tokens, heads, head_dim = call["q"].shape
    pairs = visible_pairs(call, tokens, call.size("longest"))
    factor = 5 if call.flag("causal") else 10
    return Cost(pairs * heads * head_dim * factor, traffic(call, results))


def _infer_cached_attention(call: Call) -> Types:
    _check_heads(call)
    context, _, _ = call.shape("k_cache", 3)
    _, kv_heads, head_dim = call["k"].shape
    call.expect_shape("k_cache", (context, kv_heads, head_dim), f"operand 'k' {call['k']}")
    call.expect_dtype("k_cache", call["k"].dtype)
    call.expect_like("v_cache", "k_cache")
    call.expect_shape("cache_length", (size(1),), "one sequence")
    call.expect_dtype("cache_length", DType.I32)
    return call["q"], call["k_cache"], call["v_cache"]


def _cost_cached_attention(call: Call, results: Types) -> Cost:
    tokens, heads, head_dim = call["q"].shape
    pairs = visible_pairs(call, tokens, call["k_cache"].shape[0]) * 2
    small = call["q"].bytes * 2 + call["k"].bytes * 2
    return Cost(pairs * heads * head_dim * 2, small + call["k_cache"].bytes * 2)


HEADS = ("q", "k", "v")

SPECS = (
    OpSpec("rope", ("x", "positions"), ("y",), _infer_rope, pointwise(3), _differentiate_rope),
    OpSpec(
        "attention", (*HEADS, "documents"), ("o", "lse"), _infer_attention, _cost_attention, _differentiate_attention
    ),
    OpSpec(
        "attention_backward",
        ("do", *HEADS, "o", "lse", "documents"),
        ("dq", "dk", "dv"),
        _infer_attention_backward,
        _cost_attention_backward,
    ),
    OpSpec(
        "cached_attention",
        (*HEADS, "k_cache", "v_cache", "cache_length"),
        ("o", "k_cache", "v_cache"),
        _infer_cached_attention,
        _cost_cached_attention,
        updates={1: 3, 2: 4},
    ),
)
