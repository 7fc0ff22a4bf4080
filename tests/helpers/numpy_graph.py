"""Run a graph in float64 with numpy: a second, plain reading of every op's formula, for finite differences.

Symbolic sizes are bound by the caller; random numbers of dropout are a fixed mask per (purpose, layer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any  # Any: attributes, whose types the op's own rule has checked

import numpy as np
from numpy.typing import NDArray

from engine.graph.graph import Graph, Value
from engine.graph.unroll import concrete

Array = NDArray[np.float64]
Run = Callable[..., tuple[Array, ...]]


def run_graph(graph: Graph, given: Mapping[str, Array], dims: Mapping[str, int]) -> dict[str, Array]:
    """All values of the graph by name, from its inputs and parameters by name."""
    values: dict[str, Array] = {}
    for value in (*graph.inputs, *(parameter.value for parameter in graph.parameters)):
        values[value.name] = given[value.name]
        assert given[value.name].shape == value.type.evaluate(dims), value
    for node in graph.nodes:
        operands = [values[value.name] for value in node.inputs]
        results = OPS[node.op](*operands, **concrete(node.attributes, dims))
        for value, result in zip(node.outputs, results, strict=True):
            assert result.shape == value.type.evaluate(dims), (node.name, result.shape)
            values[value.name] = result
    return values


def random_inputs(graph: Graph, dims: Mapping[str, int], seed: int) -> dict[str, Array]:
    """Normal numbers for float inputs and parameters; integer inputs must be given by the caller."""
    generator = np.random.default_rng(seed)
    floats: list[Value] = [value for value in graph.inputs if value.type.dtype.is_float]
    floats += [parameter.value for parameter in graph.parameters]
    return {value.name: generator.standard_normal(value.type.evaluate(dims)) for value in floats}


def _softmax(scores: Array) -> tuple[Array, Array]:
    top = scores.max(axis=-1, keepdims=True)
    shifted = np.exp(scores - top)
    total = shifted.sum(axis=-1, keepdims=True)
    return shifted / total, (np.log(total) + top)[..., 0]


def _embedding(ids: Array, weight: Array) -> tuple[Array, ...]:
    return (weight[ids.astype(np.int64)],)


def _embedding_backward(ids: Array, dy: Array, *, vocabulary: int) -> tuple[Array, ...]:
    result = np.zeros((vocabulary, dy.shape[1]))
    np.add.at(result, ids.astype(np.int64), dy)
    return (result,)


def _rms_norm(x: Array, weight: Array, *, eps: float) -> tuple[Array, ...]:
    rstd = 1 / np.sqrt((x * x).mean(axis=-1) + eps)
    return x * rstd[..., None] * weight, rstd


def _rms_norm_backward(dy: Array, x: Array, weight: Array, rstd: Array) -> tuple[Array, ...]:
    g, n = dy * weight, x * rstd[..., None]
    return (rstd[..., None] * (g - n * (g * n).mean(axis=-1, keepdims=True)),)


def _rms_norm_weight_backward(dy: Array, x: Array, rstd: Array) -> tuple[Array, ...]:
    return ((dy * x * rstd[..., None]).reshape(-1, x.shape[-1]).sum(axis=0),)


def _rope(
    x: Array, positions: Array, *, inverse_frequencies: tuple[float, ...], attention_scaling: float, inverse: bool
) -> tuple[Array, ...]:
    angle = positions[:, None] * np.array(inverse_frequencies)
    cos, sin = np.cos(angle)[:, None] * attention_scaling, np.sin(angle)[:, None] * attention_scaling
    sin = -sin if inverse else sin
    first, second = np.split(x, 2, axis=-1)
    return (np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1),)


def _mask(tokens: int, documents: Array, causal: bool, window: int | None) -> Array:
    document = np.searchsorted(documents, np.arange(tokens), side="right")
    inside = (document[:, None] == document[None, :]) & (document[None, :] < len(documents))
    distance = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    if causal:
        inside &= distance >= 0
    if window is not None:
        inside &= distance < window
    return np.asarray(inside)


def _scores(
    q: Array, k: Array, documents: Array, causal: bool, window: int | None, scale: float
) -> tuple[Array, Array]:
    """[H, N, N] scores of all heads and the mask; rows of padding tokens see nothing."""
    k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
    mask = _mask(len(q), documents, causal, window)
    return np.where(mask, np.einsum("nhd,mhd->hnm", q, k) * scale, -np.inf), np.asarray(mask.any(axis=1))


def _attention(
    q: Array, k: Array, v: Array, documents: Array, *, causal: bool, window: int | None, scale: float, longest: int
) -> tuple[Array, ...]:
    scores, real = _scores(q, k, documents, causal, window, scale)
    o, lse = np.zeros_like(q), np.zeros(q.shape[:2])
    p, total = _softmax(scores[:, real])
    o[real] = np.einsum("hnm,mhd->nhd", p, np.repeat(v, q.shape[1] // v.shape[1], axis=1))
    lse[real] = total.T
    return o, lse


def _attention_backward(
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
    scores, real = _scores(q, k, documents, causal, window, scale)
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


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _swiglu_backward(dy: Array, gate: Array, up: Array) -> tuple[Array, ...]:
    s = _sigmoid(gate)
    return dy * up * s * (1 + gate * (1 - s)), dy * gate * s


def _cut(packed: Array, *counts: int, head_dim: int) -> list[Array]:
    """Packed rows as so many heads each, [N, count, HD]; what comes after them is left out."""
    heads = packed.reshape(len(packed), -1, head_dim)
    return np.split(heads, np.cumsum(counts), axis=1)[: len(counts)]


def _packed(*parts: Array) -> Array:
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def _rope_packed(
    qkv: Array, positions: Array, *, heads: int, kv_heads: int, head_dim: int, **rotation: Any
) -> tuple[Array, ...]:
    q, k, v = _cut(qkv, heads, kv_heads, kv_heads, head_dim=head_dim)
    return (_packed(_rope(q, positions, **rotation)[0], _rope(k, positions, **rotation)[0], v),)


def _qk_norm_rope(
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
    parts = zip(_cut(qkv, heads, kv_heads, head_dim=head_dim), (q_weight, k_weight), strict=True)
    normed = [_rms_norm(x, weight, eps=eps)[0] for x, weight in parts]
    return _packed(*(_rope(x, positions, **rotation, inverse=False)[0] for x in normed)), qkv


def _qk_norm_rope_weight_backward(
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
    *upstream, dv = _cut(dqkv, heads, kv_heads, kv_heads, head_dim=head_dim)
    inputs = _cut(qkv, heads, kv_heads, head_dim=head_dim)
    found, dweights = [], []
    for dy, x, weight in zip(upstream, inputs, (q_weight, k_weight), strict=True):
        (g,) = _rope(dy, positions, **rotation, inverse=True)
        _, rstd = _rms_norm(x, weight, eps=eps)
        found += _rms_norm_backward(g, x, weight, rstd)
        dweights += _rms_norm_weight_backward(g, x, rstd)
    return _packed(*found, dv), *dweights


def _attention_packed(
    qk: Array, qkv: Array, documents: Array, *, heads: int, kv_heads: int, head_dim: int, **how: Any
) -> tuple[Array, ...]:
    q, k = _cut(qk, heads, kv_heads, head_dim=head_dim)
    _, v = _cut(qkv, heads + kv_heads, kv_heads, head_dim=head_dim)
    o, lse = _attention(q, k, v, documents, **how)
    return _packed(o), lse


def _attention_packed_backward(
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
    q, k = _cut(qk, heads, kv_heads, head_dim=head_dim)
    _, v = _cut(qkv, heads + kv_heads, kv_heads, head_dim=head_dim)
    (do_heads,), (o_heads,) = _cut(do, heads, head_dim=head_dim), _cut(o, heads, head_dim=head_dim)
    return (_packed(*_attention_backward(do_heads, q, k, v, o_heads, lse, documents, **how)),)


def _segments(
    starts: tuple[int, ...], widths: tuple[int, ...], rank: int
) -> Iterator[tuple[slice, slice, slice]]:
    """Columns of the packed array, columns of x, rows of the weight."""
    row = 0
    for number, (start, width) in enumerate(zip(starts, widths, strict=True)):
        yield slice(start, start + width), slice(number * rank, (number + 1) * rank), slice(row, row + width)
        row += width


def _linear_segments(y: Array, x: Array, weight: Array, *, factor: float, **where: Any) -> tuple[Array, ...]:
    y = y.copy()
    for columns, low, rows in _segments(**where):
        y[:, columns] += factor * x[:, low] @ weight[rows].T
    return (y,)


def _linear_segments_input_backward(dy: Array, weight: Array, *, factor: float, **where: Any) -> tuple[Array, ...]:
    return (np.concatenate([factor * dy[:, c] @ weight[rows] for c, _, rows in _segments(**where)], axis=1),)


def _linear_segments_weight_backward(dy: Array, x: Array, *, factor: float, **where: Any) -> tuple[Array, ...]:
    return (np.concatenate([factor * dy[:, c].T @ x[:, low] for c, low, _ in _segments(**where)]),)


def _dropout(x: Array, step_state: Array, *, probability: float, purpose: int, layer: int) -> tuple[Array, ...]:
    kept = np.random.default_rng([purpose, layer, *map(int, step_state)]).random(x.shape) >= probability
    return (x * kept / (1 - probability),)


def _head(h: Array, weight: Array, targets: Array, loss_weights: Array) -> tuple[Array, Array, Array, Array]:
    logits = h @ weight.T
    p, lse = _softmax(logits)
    valid = np.where(loss_weights > 0, targets, 0)
    nll = np.where(loss_weights > 0, lse - logits[np.arange(len(h)), valid], 0.0)
    dz = p.copy()
    dz[np.arange(len(h)), valid] -= 1
    correct = (loss_weights * (logits.argmax(axis=1) == valid)).sum()
    return np.array([(loss_weights * nll).sum()]), np.array([loss_weights.sum()]), dz * loss_weights[:, None], correct


def _head_loss(
    h: Array, weight: Array, targets: Array, loss_weights: Array, *, chunk_tokens: int, weight_gradient: bool
) -> tuple[Array, ...]:
    loss, total, dz, _ = _head(h, weight, targets, loss_weights)
    return (loss, total, dz @ weight, *((dz.T @ h,) if weight_gradient else ()))


def _head_loss_forward(
    h: Array, weight: Array, targets: Array, loss_weights: Array, *, chunk_tokens: int
) -> tuple[Array, ...]:
    loss, total, _, correct = _head(h, weight, targets, loss_weights)
    return loss, total, np.array([correct])


OPS: Mapping[str, Run] = {
    "embedding": _embedding,
    "embedding_backward": _embedding_backward,
    "rms_norm": _rms_norm,
    "rms_norm_backward": _rms_norm_backward,
    "rms_norm_weight_backward": _rms_norm_weight_backward,
    "linear": lambda x, weight: (x @ weight.T,),
    "linear_input_backward": lambda dy, weight: (dy @ weight,),
    "linear_weight_backward": lambda dy, x: (dy.T @ x,),
    "bias_add": lambda x, bias: (x + bias,),
    "bias_backward": lambda dy: (dy.sum(axis=0),),
    "reshape": lambda x, shape: (x.reshape(shape),),
    "rope": _rope,
    "attention": _attention,
    "attention_backward": _attention_backward,
    "add": lambda x, y: (x + y,),
    "multiply": lambda x, y: (x * y,),
    "scale": lambda x, factor: (x * factor,),
    "cast": lambda x, dtype: (x,),
    "swiglu": lambda gate, up: (gate * _sigmoid(gate) * up,),
    "swiglu_backward": _swiglu_backward,
    "dropout": _dropout,
    "head_loss": _head_loss,
    "head_loss_forward": _head_loss_forward,
    "rope_packed": _rope_packed,
    "qk_norm_rope": _qk_norm_rope,
    "qk_norm_rope_backward": lambda *operands, **how: _qk_norm_rope_weight_backward(*operands, **how)[:1],
    "qk_norm_rope_weight_backward": _qk_norm_rope_weight_backward,
    "attention_packed": _attention_packed,
    "attention_packed_backward": _attention_packed_backward,
    "linear_segments": _linear_segments,
    "linear_segments_input_backward": _linear_segments_input_backward,
    "linear_segments_weight_backward": _linear_segments_weight_backward,
    "swiglu_packed": lambda gate_up, width: (gate_up[:, :width] * _sigmoid(gate_up[:, :width]) * gate_up[:, width:],),
    "swiglu_packed_backward": lambda dy, gate_up, width: (
        _packed(*_swiglu_backward(dy, gate_up[:, :width], gate_up[:, width:])),
    ),
    "accumulate": lambda accumulator, gradient, step_state: (
        gradient if step_state[2] == 0 else accumulator + gradient,
    ),
}
