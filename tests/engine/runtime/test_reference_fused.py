"""Fused operations are the plain ones in one call: in fp32 and fp64 bit for bit, in bf16 with fewer roundings."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from engine.runtime.reference.dispatch import BINDERS
from engine.runtime.reference.operands import Operands
from tests.helpers.reference_ops import DTYPES, assert_close, call_op, draw, like, weight_gradients_like

TOKENS, HEADS, KV_HEADS, HEAD_DIM = 11, 4, 2, 6
PACKED = {"heads": HEADS, "kv_heads": KV_HEADS, "head_dim": HEAD_DIM}
ROTATION = {"inverse_frequencies": (1.0, 0.3, 0.02), "attention_scaling": 2.0}  # exact in every type
WIDTH = (HEADS + 2 * KV_HEADS) * HEAD_DIM
POSITIONS = torch.tensor([0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3], dtype=torch.int32)
DOCUMENTS = torch.tensor([0, 4, 7, 7, 10], dtype=torch.int32)  # the last token is padding
ATTENTION = {"causal": True, "window": 3, "scale": 0.4}
EXACT = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
ALL = pytest.mark.parametrize("dtype", DTYPES)


def in_place(
    op: str, inputs: Sequence[torch.Tensor], *more: torch.Tensor, updated: int = 0, **attributes: object
) -> list[torch.Tensor]:
    """Outputs of an op whose operand `updated` is overwritten; with one output it is that, else where it belongs."""
    copies = [tensor.clone() for tensor in inputs]
    outputs = [*more] if more else []
    outputs.insert(1 if op == "qk_norm_rope" else 0, copies[updated])
    with torch.no_grad():
        BINDERS[op](Operands(op, tuple(copies), tuple(outputs), attributes))()
    for position, (copy, tensor) in enumerate(zip(copies, inputs, strict=True)):
        assert position == updated or torch.equal(copy, tensor), f"{op} wrote to input {position}"
    return outputs


def heads(packed: torch.Tensor, *counts: int) -> list[torch.Tensor]:
    """Contiguous copies of the heads in packed rows."""
    every = packed.view(len(packed), -1, HEAD_DIM)
    return [part.contiguous() for part in every.split([*counts], dim=1)]


def rejoined(*parts: torch.Tensor) -> torch.Tensor:
    return torch.cat([part.reshape(len(part), -1) for part in parts], dim=1)


def table() -> torch.Tensor:
    (made,) = call_op("rope_table", (POSITIONS,), [torch.empty(TOKENS, HEAD_DIM // 2, 2)], **ROTATION)
    return made


def turned(x: torch.Tensor, inverse: bool = False) -> torch.Tensor:
    return call_op("rope", (x, POSITIONS), like(x), inverse=inverse, **ROTATION)[0]


@ALL
@pytest.mark.parametrize("inverse", [False, True])
def test_rope_packed(dtype: torch.dtype, inverse: bool) -> None:
    qkv = draw(TOKENS, WIDTH, dtype=dtype)
    q, k, v = heads(qkv, HEADS, KV_HEADS, KV_HEADS)
    (found,) = in_place("rope_packed", (qkv, table()), inverse=inverse, **PACKED)
    assert torch.equal(found, rejoined(turned(q, inverse), turned(k, inverse), v))


def norm_weights(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return draw(HEAD_DIM, dtype=dtype, seed=1), draw(HEAD_DIM, dtype=dtype, seed=2)


@EXACT
def test_qk_norm_rope_and_its_backward(dtype: torch.dtype) -> None:
    qkv, dqkv = draw(TOKENS, WIDTH, dtype=dtype), draw(TOKENS, WIDTH, dtype=dtype, seed=3)
    weights, how = norm_weights(dtype), {"eps": 1e-5, **PACKED}
    dq, dk, dv = heads(dqkv, HEADS, KV_HEADS, KV_HEADS)
    expected, gradients, weight_gradients = [], [], []
    for x, dy, weight in zip(heads(qkv, HEADS, KV_HEADS, KV_HEADS), (dq, dk), weights, strict=False):
        rstd = torch.empty(x.shape[:2], dtype=dtype if dtype == torch.float64 else torch.float32)
        y, _ = call_op("rms_norm", (x, weight), [*like(x), rstd], eps=1e-5)
        expected.append(turned(y))
        g = turned(dy, inverse=True)
        gradients += call_op("rms_norm_backward", (g, x, weight, rstd), like(x))
        weight_gradients += call_op("rms_norm_weight_backward", (g, x, rstd), weight_gradients_like(weight))
    qk, carried = in_place("qk_norm_rope", (qkv, *weights, table()), *like(rejoined(*expected)), **how)
    assert torch.equal(carried, qkv) and torch.equal(qk, rejoined(*expected))
    operands = (dqkv, qkv, *weights, table())
    (found,) = in_place("qk_norm_rope_backward", operands, **how)
    assert torch.equal(found, rejoined(*gradients, dv))
    again, *dweights = in_place("qk_norm_rope_weight_backward", operands, *weight_gradients_like(*weights), **how)
    assert torch.equal(again, found)
    for ours, theirs in zip(dweights, weight_gradients, strict=True):
        assert torch.equal(ours, theirs)


def test_qk_norm_rope_in_half_precision_rounds_once() -> None:
    qkv, weights = draw(TOKENS, WIDTH, dtype=torch.bfloat16), norm_weights(torch.bfloat16)
    how = {"eps": 1e-5, **PACKED}
    outputs = like(qkv[:, : (HEADS + KV_HEADS) * HEAD_DIM].contiguous())
    qk, _ = in_place("qk_norm_rope", (qkv, *weights, table()), *outputs, **how)
    wide = [tensor.double() for tensor in (qkv, *weights)]
    exact, _ = in_place("qk_norm_rope", (*wide, table()), *like(qk.double()), **how)
    assert_close(qk, exact, HEAD_DIM)


@ALL
@pytest.mark.parametrize("apart", [False, True])
def test_attention_packed_and_its_backward(dtype: torch.dtype, apart: bool) -> None:
    qkv, do = draw(TOKENS, WIDTH, dtype=dtype), draw(TOKENS, HEADS * HEAD_DIM, dtype=dtype, seed=4)
    q, k, v = heads(qkv, HEADS, KV_HEADS, KV_HEADS)
    qk = rejoined(q, k) if apart else qkv
    held = qkv.clone()
    if apart:  # where qk is a value of its own, nobody reads the first columns of qkv
        held[:, : (HEADS + KV_HEADS) * HEAD_DIM] = float("nan")
    else:
        qk = held
    lse = torch.empty(TOKENS, HEADS, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    o, lse_plain = call_op("attention", (q, k, v, DOCUMENTS), [*like(q), lse], **ATTENTION)
    with torch.no_grad():
        found = [*like(do, lse)]
        inputs = (qk, held, DOCUMENTS)
        BINDERS["attention_packed"](Operands("forward", inputs, tuple(found), {**ATTENTION, **PACKED}))()
        assert torch.equal(found[0], rejoined(o)) and torch.equal(found[1], lse_plain)
        do_heads = do.view(TOKENS, HEADS, HEAD_DIM)
        expected = call_op(
            "attention_backward", (do_heads, q, k, v, o, lse_plain, DOCUMENTS), like(q, k, v), **ATTENTION
        )
        (dqkv,) = like(qkv)
        inputs = (do, qk, held, *found, DOCUMENTS)
        BINDERS["attention_packed_backward"](Operands("back", inputs, (dqkv,), {**ATTENTION, **PACKED}))()
    assert torch.equal(dqkv, rejoined(*expected))


@ALL
def test_cached_attention_packed(dtype: torch.dtype) -> None:
    qkv, past = draw(TOKENS, WIDTH, dtype=dtype), torch.tensor([3], dtype=torch.int32)
    q, k, v = heads(qkv, HEADS, KV_HEADS, KV_HEADS)
    cache = [draw(20, KV_HEADS, HEAD_DIM, dtype=dtype, seed=seed) for seed in (5, 6)]
    caches = [[tensor.clone() for tensor in cache] for _ in range(2)]
    how = {"window": None, "scale": 0.4}
    plain, packed = like(q, rejoined(q))
    with torch.no_grad():
        BINDERS["cached_attention"](Operands("plain", (q, k, v, *caches[0], past), (plain, *caches[0]), how))()
        inputs, outputs = (qkv, qkv, *caches[1], past), (packed, *caches[1])
        BINDERS["cached_attention_packed"](Operands("packed", inputs, outputs, {**how, **PACKED}))()
    assert torch.equal(packed, rejoined(plain))
    assert all(torch.equal(a, b) for a, b in zip(*caches, strict=True))


@ALL
def test_swiglu_packed(dtype: torch.dtype) -> None:
    gate_up, dy = draw(TOKENS, 14, dtype=dtype), draw(TOKENS, 7, dtype=dtype, seed=7)
    gate, up = (half.contiguous() for half in gate_up.chunk(2, dim=1))
    (found,) = call_op("swiglu_packed", (gate_up,), like(dy), width=7)
    assert torch.equal(found, call_op("swiglu", (gate, up), like(dy))[0])
    (back,) = call_op("swiglu_packed_backward", (dy, gate_up), like(gate_up), width=7)
    assert torch.equal(back, torch.cat(call_op("swiglu_backward", (dy, gate, up), like(gate, up)), dim=1))


@ALL
def test_add_rms_norm_is_add_then_norm(dtype: torch.dtype) -> None:
    x, residual = draw(TOKENS, 24, dtype=dtype), draw(TOKENS, 24, dtype=dtype, seed=8)
    weight = draw(24, dtype=dtype)
    rstd = torch.empty(TOKENS, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    total, y, scale = call_op("add_rms_norm", (x, residual, weight), [*like(x, x), rstd], eps=1e-5)
    (expected,) = call_op("add", (x, residual), like(x))
    normed, scale_alone = call_op("rms_norm", (expected, weight), [*like(x), rstd.clone()], eps=1e-5)
    assert torch.equal(total, expected) and torch.equal(y, normed) and torch.equal(scale, scale_alone)


@ALL
def test_the_residuals_gradient_is_added_before_the_one_rounding(dtype: torch.dtype) -> None:
    dy, x, dresidual = (draw(TOKENS, 24, dtype=dtype, seed=seed) for seed in range(3))
    weight, rstd = draw(24, dtype=dtype), draw(TOKENS, dtype=torch.float32).abs()
    rstd = rstd.double() if dtype == torch.float64 else rstd
    (dx,) = call_op("rms_norm_residual_backward", (dy, x, weight, rstd, dresidual), like(x))
    both, dweight = call_op(
        "rms_norm_residual_weight_backward",
        (dy, x, weight, rstd, dresidual),
        [*like(x), *weight_gradients_like(weight)],
    )
    (alone,) = call_op("rms_norm_weight_backward", (dy, x, rstd), weight_gradients_like(weight))
    assert torch.equal(dx, both) and torch.equal(dweight, alone)
    (norm,) = call_op("rms_norm_backward", (dy, x, weight, rstd), like(x))
    (plain,) = call_op("add", (dresidual, norm), like(x))
    if dtype != torch.bfloat16:
        assert torch.equal(dx, plain)
    wide = [tensor.double() for tensor in (dy, x, weight, rstd)]
    exact = call_op("rms_norm_backward", wide, like(wide[1]))[0] + dresidual.double()
    assert_close(dx, exact, 24, magnitude=float(exact.abs().max()))


@EXACT
def test_a_product_added_in_place(dtype: torch.dtype) -> None:
    dx, dy, weight = draw(TOKENS, 9, dtype=dtype), draw(TOKENS, 5, dtype=dtype), draw(5, 9, dtype=dtype)
    (found,) = in_place("linear_input_backward_add", (dx, dy, weight))
    (product,) = call_op("linear_input_backward", (dy, weight), like(dx))
    assert torch.equal(found, dx + product)


SEGMENTS = {"starts": (0, 7), "widths": (4, 6), "rank": 3, "factor": 0.75}


@ALL
def test_products_into_columns_and_their_gradients(dtype: torch.dtype) -> None:
    y, dy = draw(TOKENS, 14, dtype=dtype), draw(TOKENS, 14, dtype=dtype, seed=9)
    x, weight = draw(TOKENS, 6, dtype=dtype), draw(10, 3, dtype=dtype)
    (found,) = in_place("linear_segments", (y, x, weight), **SEGMENTS)
    (dx,) = call_op("linear_segments_input_backward", (dy, weight), like(x), **SEGMENTS)
    (dweight,) = call_op("linear_segments_weight_backward", (dy, x), weight_gradients_like(weight), **SEGMENTS)
    exact, low, rows = y.double(), torch.zeros_like(x).double(), torch.zeros_like(weight).double()
    for number, (columns, part) in enumerate(((slice(0, 4), slice(0, 4)), (slice(7, 13), slice(4, 10)))):
        narrow = slice(number * 3, number * 3 + 3)
        exact[:, columns] += 0.75 * x[:, narrow].double() @ weight[part].double().T
        low[:, narrow] = 0.75 * dy[:, columns].double() @ weight[part].double()
        rows[part] = 0.75 * dy[:, columns].double().T @ x[:, narrow].double()
    assert torch.equal(found[:, 4:7], y[:, 4:7]) and torch.equal(found[:, 13:], y[:, 13:])
    for ours, theirs, terms in ((found, exact, 4), (dx, low, 6), (dweight, rows, TOKENS)):
        assert_close(ours, theirs, terms, magnitude=float(theirs.abs().max()))
