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
)


def cut(packed: Array, *counts: int, head_dim: int) -> list[Array]:
    """Packed rows as so many heads each, [N, count, HD]; what comes after them is left out."""
    heads = packed.reshape(len(packed), -1, head_dim)
    return np.split(heads, np.cumsum(counts), axis=1)[: len(counts)]


def packed(*parts: Array) -> Array:
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def rope_table(
    positions: Array, *, inverse_frequencies: tuple[float, ...], attention_scaling: float
) -> tuple[Array, ...]:
    angle = positions[:, None] * np.array(inverse_frequencies)
    return (np.stack((np.cos(angle), np.sin(angle)), axis=-1) * attention_scaling,)


def turned(x: Array, table: Array, inverse: bool) -> Array:
    """x as complex numbers, first half + i · second half, times cos ± i · sin."""
    turn = (table[..., 0] + (-1j if inverse else 1j) * table[..., 1])[:, None]
    first, second = np.split(x, 2, axis=-1)
    product = (first + 1j * second) * turn
    return np.concatenate((product.real, product.imag), axis=-1)


def rope_packed(
    qkv: Array, table: Array, *, heads: int, kv_heads: int, head_dim: int, inverse: bool
) -> tuple[Array, ...]:
    q, k, v = cut(qkv, heads, kv_heads, kv_heads, head_dim=head_dim)
    return (packed(turned(q, table, inverse), turned(k, table, inverse), v),)


def qk_norm_rope(
    qkv: Array,
    q_weight: Array,
    k_weight: Array,
    table: Array,
    *,
    eps: float,
    heads: int,
    kv_heads: int,
    head_dim: int,
) -> tuple[Array, ...]:
    parts = zip(cut(qkv, heads, kv_heads, head_dim=head_dim), (q_weight, k_weight), strict=True)
    normed = [rms_norm(x, weight, eps=eps)[0] for x, weight in parts]
    return packed(*(turned(x, table, inverse=False) for x in normed)), qkv


def qk_norm_rope_weight_backward(
    dqkv: Array,
    qkv: Array,
    q_weight: Array,
    k_weight: Array,
    table: Array,
    *,
    eps: float,
    heads: int,
    kv_heads: int,
    head_dim: int,
) -> tuple[Array, ...]:
    *upstream, dv = cut(dqkv, heads, kv_heads, kv_heads, head_dim=head_dim)
    inputs = cut(qkv, heads, kv_heads, head_dim=head_dim)
    found: list[Array] = []
    dweights: list[Array] = []
    for dy, x, weight in zip(upstream, inputs, (q_weight, k_weight), strict=True):
        g = turned(dy, table, inverse=True)
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
