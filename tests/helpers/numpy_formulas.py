"""The formulas of the plain ops, in numpy, as one would write them on paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def softmax(scores: Array) -> tuple[Array, Array]:
    top = scores.max(axis=-1, keepdims=True)
    shifted = np.exp(scores - top)
    total = shifted.sum(axis=-1, keepdims=True)
    return shifted / total, (np.log(total) + top)[..., 0]


def embedding(ids: Array, weight: Array) -> tuple[Array, ...]:
    return (weight[ids.astype(np.int64)],)


def embedding_backward(ids: Array, dy: Array, *, vocabulary: int) -> tuple[Array, ...]:
    result = np.zeros((vocabulary, dy.shape[1]))
    np.add.at(result, ids.astype(np.int64), dy)
    return (result,)


def rms_norm(x: Array, weight: Array, *, eps: float) -> tuple[Array, ...]:
    rstd = 1 / np.sqrt((x * x).mean(axis=-1) + eps)
    return x * rstd[..., None] * weight, rstd


def rms_norm_backward(dy: Array, x: Array, weight: Array, rstd: Array) -> tuple[Array, ...]:
    g, n = dy * weight, x * rstd[..., None]
    return (rstd[..., None] * (g - n * (g * n).mean(axis=-1, keepdims=True)),)


def rms_norm_weight_backward(dy: Array, x: Array, rstd: Array) -> tuple[Array, ...]:
    return ((dy * x * rstd[..., None]).reshape(-1, x.shape[-1]).sum(axis=0),)


def rope(
    x: Array, positions: Array, *, inverse_frequencies: tuple[float, ...], attention_scaling: float, inverse: bool
) -> tuple[Array, ...]:
    angle = positions[:, None] * np.array(inverse_frequencies)
    cos, sin = np.cos(angle)[:, None] * attention_scaling, np.sin(angle)[:, None] * attention_scaling
    sin = -sin if inverse else sin
    first, second = np.split(x, 2, axis=-1)
    return (np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1),)


def visible(tokens: int, documents: Array, causal: bool, window: int | None) -> Array:
    document = np.searchsorted(documents, np.arange(tokens), side="right")
    inside = (document[:, None] == document[None, :]) & (document[None, :] < len(documents))
    distance = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    if causal:
        inside &= distance >= 0
    if window is not None:
        inside &= distance < window
    return np.asarray(inside)


def scores_of(
    q: Array, k: Array, documents: Array, causal: bool, window: int | None, scale: float
) -> tuple[Array, Array]:
    """[H, N, N] scores of all heads and the mask; rows of padding tokens see nothing."""
    k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
    mask = visible(len(q), documents, causal, window)
    return np.where(mask, np.einsum("nhd,mhd->hnm", q, k) * scale, -np.inf), np.asarray(mask.any(axis=1))


def attention(
    q: Array, k: Array, v: Array, documents: Array, *, causal: bool, window: int | None, scale: float, longest: int
) -> tuple[Array, ...]:
    scores, real = scores_of(q, k, documents, causal, window, scale)
    o, lse = np.zeros_like(q), np.zeros(q.shape[:2])
    p, total = softmax(scores[:, real])
    o[real] = np.einsum("hnm,mhd->nhd", p, np.repeat(v, q.shape[1] // v.shape[1], axis=1))
    lse[real] = total.T
    return o, lse


def attention_backward(
    do: Array,
    q: Array,
    k: Array,
    v: Array,
    o: Array,
    lse: Array,
    documents: Array,
    *,
    causal: bool,
    window: int | None,
    scale: float,
    longest: int,
) -> tuple[Array, ...]:
    scores, real = scores_of(q, k, documents, causal, window, scale)
    p = np.zeros_like(scores)
    p[:, real] = np.exp(scores[:, real] - lse.T[:, real, None])
    group = q.shape[1] // k.shape[1]
    k_all, v_all = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    dv = np.einsum("hnm,nhd->mhd", p, do)
    dp = np.einsum("nhd,mhd->hnm", do, v_all)
    ds = p * (dp - (do * o).sum(axis=-1).T[..., None]) * scale
    dq, dk = np.einsum("hnm,mhd->nhd", ds, k_all), np.einsum("hnm,nhd->mhd", ds, q)
    folded = (len(k), k.shape[1], group, k.shape[2])
    return dq, dk.reshape(folded).sum(axis=2), dv.reshape(folded).sum(axis=2)


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def swiglu_backward(dy: Array, gate: Array, up: Array) -> tuple[Array, ...]:
    s = sigmoid(gate)
    return dy * up * s * (1 + gate * (1 - s)), dy * gate * s


def dropout(x: Array, step_state: Array, *, probability: float, purpose: int, layer: int) -> tuple[Array, ...]:
    kept = np.random.default_rng([purpose, layer, *map(int, step_state)]).random(x.shape) >= probability
    return (x * kept / (1 - probability),)


def head(h: Array, weight: Array, targets: Array, loss_weights: Array) -> tuple[Array, Array, Array, Array]:
    logits = h @ weight.T
    p, lse = softmax(logits)
    valid = np.where(loss_weights > 0, targets, 0)
    nll = np.where(loss_weights > 0, lse - logits[np.arange(len(h)), valid], 0.0)
    dz = p.copy()
    dz[np.arange(len(h)), valid] -= 1
    correct = (loss_weights * (logits.argmax(axis=1) == valid)).sum()
    return np.array([(loss_weights * nll).sum()]), np.array([loss_weights.sum()]), dz * loss_weights[:, None], correct


def head_loss(
    h: Array, weight: Array, targets: Array, loss_weights: Array, *, chunk_tokens: int, weight_gradient: bool
) -> tuple[Array, ...]:
    loss, total, dz, _ = head(h, weight, targets, loss_weights)
    return (loss, total, dz @ weight, *((dz.T @ h,) if weight_gradient else ()))


def head_loss_forward(
    h: Array, weight: Array, targets: Array, loss_weights: Array, *, chunk_tokens: int
) -> tuple[Array, ...]:
    loss, total, _, correct = head(h, weight, targets, loss_weights)
    return loss, total, np.array([correct])
