"""The formulas of the ops on packed rows of heads and on columns: cut apart, put to the plain ones, joined again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any  # Any: attributes, whose types the op's own rule has checked

import numpy as np

from tests.helpers.numpy_formulas import (
    Array,
    attention,
    attention_backward,
    rms_norm,
    rms_norm_backward,
    rms_norm_weight_backward,
    rope,
)


def cut(packed: Array, *counts: int, head_dim: int) -> list[Array]:
    """Packed rows as so many heads each, [N, count, HD]; what comes after them is left out."""
    heads = packed.reshape(len(packed), -1, head_dim)
    return np.split(heads, np.cumsum(counts), axis=1)[: len(counts)]


def packed(*parts: Array) -> Array:
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def rope_packed(
    qkv: Array, positions: Array, *, heads: int, kv_heads: int, head_dim: int, **rotation: Any
) -> tuple[Array, ...]:
    q, k, v = cut(qkv, heads, kv_heads, kv_heads, head_dim=head_dim)
    return (packed(rope(q, positions, **rotation)[0], rope(k, positions, **rotation)[0], v),)


def qk_norm_rope(
    qkv: Array,
    q_weight: Array,
    k_weight: Array,
    positions: Array,
    *,
    eps: float,
    heads: int,
    kv_heads: int,
    head_dim: int,
    **rotation: Any,
) -> tuple[Array, ...]:
    parts = zip(cut(qkv, heads, kv_heads, head_dim=head_dim), (q_weight, k_weight), strict=True)
    normed = [rms_norm(x, weight, eps=eps)[0] for x, weight in parts]
    return packed(*(rope(x, positions, **rotation, inverse=False)[0] for x in normed)), qkv


def qk_norm_rope_weight_backward(
    dqkv: Array,
    qkv: Array,
    q_weight: Array,
    k_weight: Array,
    positions: Array,
    *,
    eps: float,
    heads: int,
    kv_heads: int,
    head_dim: int,
    **rotation: Any,
) -> tuple[Array, ...]:
    *upstream, dv = cut(dqkv, heads, kv_heads, kv_heads, head_dim=head_dim)
    inputs = cut(qkv, heads, kv_heads, head_dim=head_dim)
    found: list[Array] = []
    dweights: list[Array] = []
    for dy, x, weight in zip(upstream, inputs, (q_weight, k_weight), strict=True):
        (g,) = rope(dy, positions, **rotation, inverse=True)
        _, rstd = rms_norm(x, weight, eps=eps)
        found += rms_norm_backward(g, x, weight, rstd)
        dweights += rms_norm_weight_backward(g, x, rstd)
    return packed(*found, dv), *dweights


def attention_packed(
    qk: Array, qkv: Array, documents: Array, *, heads: int, kv_heads: int, head_dim: int, **how: Any
) -> tuple[Array, ...]:
    q, k = cut(qk, heads, kv_heads, head_dim=head_dim)
    _, v = cut(qkv, heads + kv_heads, kv_heads, head_dim=head_dim)
    o, lse = attention(q, k, v, documents, **how)
    return packed(o), lse


def attention_packed_backward(
    do: Array,
    qk: Array,
    qkv: Array,
    o: Array,
    lse: Array,
    documents: Array,
    *,
    heads: int,
    kv_heads: int,
    head_dim: int,
    **how: Any,
) -> tuple[Array, ...]:
    q, k = cut(qk, heads, kv_heads, head_dim=head_dim)
    _, v = cut(qkv, heads + kv_heads, kv_heads, head_dim=head_dim)
    (do_heads,), (o_heads,) = cut(do, heads, head_dim=head_dim), cut(o, heads, head_dim=head_dim)
    return (packed(*attention_backward(do_heads, q, k, v, o_heads, lse, documents, **how)),)


def segments(starts: tuple[int, ...], widths: tuple[int, ...], rank: int) -> Iterator[tuple[slice, slice, slice]]:
    """Columns of the packed array, columns of x, rows of the weight."""
    row = 0
    for number, (start, width) in enumerate(zip(starts, widths, strict=True)):
        yield slice(start, start + width), slice(number * rank, (number + 1) * rank), slice(row, row + width)
        row += width


def linear_segments(y: Array, x: Array, weight: Array, *, factor: float, **where: Any) -> tuple[Array, ...]:
    y = y.copy()
    for columns, low, rows in segments(**where):
        y[:, columns] += factor * x[:, low] @ weight[rows].T
    return (y,)


def linear_segments_input_backward(dy: Array, weight: Array, *, factor: float, **where: Any) -> tuple[Array, ...]:
    return (np.concatenate([factor * dy[:, c] @ weight[rows] for c, _, rows in segments(**where)], axis=1),)


def linear_segments_weight_backward(dy: Array, x: Array, *, factor: float, **where: Any) -> tuple[Array, ...]:
    return (np.concatenate([factor * dy[:, c].T @ x[:, low] for c, low, _ in segments(**where)]),)
