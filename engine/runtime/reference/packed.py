"""Operations on packed rows of q, k and v heads, qkv[N, (H + 2K)·HD]: the plain ones on views of the heads.

A view of some heads, [N, h, HD], is not contiguous: rows are as far apart as those of the packed tensor.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from engine.runtime.reference import attention as plain
from engine.runtime.reference.norm import input_gradient, normalised
from engine.runtime.reference.operands import WIDE, Call, Operands, wide
from engine.runtime.reference.rope import turn


def _sizes(o: Operands) -> tuple[int, int, int]:
    return o.integer("heads"), o.integer("kv_heads"), o.integer("head_dim")


def _heads(packed: torch.Tensor, first: int, count: int, head_dim: int) -> torch.Tensor:
    """Heads first … first + count − 1 of packed rows, [N, count, HD]."""
    return packed.view(packed.shape[0], -1, head_dim)[:, first : first + count]


def _q_and_k(o: Operands, packed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    heads, kv_heads, head_dim = _sizes(o)
    return _heads(packed, 0, heads, head_dim), _heads(packed, heads, kv_heads, head_dim)


def _q_k_v(o: Operands, qk: torch.Tensor, qkv: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    heads, kv_heads, head_dim = _sizes(o)
    return *_q_and_k(o, qk), _heads(qkv, heads + kv_heads, kv_heads, head_dim)


def _turn(x: torch.Tensor, table: torch.Tensor, y: torch.Tensor, inverse: bool) -> None:
    dtype = x.dtype if x.dtype in WIDE else torch.float32
    cos, sin = table.to(dtype).unbind(-1)
    turn(x, cos, -sin if inverse else sin, y)


def rope_packed(o: Operands) -> Call:
    """q and k of qkv turned in place; v stays."""
    qkv, table = o.inputs
    heads, kv_heads, head_dim = _sizes(o)
    x, inverse = _heads(qkv, 0, heads + kv_heads, head_dim), o.flag("inverse")
    return lambda: _turn(x, table, x, inverse)


def qk_norm_rope(o: Operands) -> Call:
    """qk = the q and k heads of qkv, normed and turned."""
    (qkv, q_weight, k_weight, table), qk = o.inputs, o.outputs[0]
    eps = o.number("eps")
    pairs = list(zip(_q_and_k(o, qkv), _q_and_k(o, qk), (q_weight, k_weight), strict=True))

    def call() -> None:
        for x, y, weight in pairs:
            normed, _ = normalised(wide(x).reshape(-1, x.shape[-1]), weight, eps)
            _turn(normed.view(x.shape), table, y, inverse=False)

    return call


def qk_norm_rope_backward(o: Operands) -> Call:
    """dqkv holds the gradients after norm and rotation, and then those before; dweight of each norm where asked for."""
    dqkv, qkv, q_weight, k_weight, table = o.inputs
    eps = o.number("eps")
    dweights = o.outputs[1:] or (None, None)
    sides = list(zip(_q_and_k(o, dqkv), _q_and_k(o, qkv), (q_weight, k_weight), dweights, strict=True))

    def call() -> None:
        for gradient, x, weight, dweight in sides:
            x32 = wide(x).reshape(-1, x.shape[-1])
            dy = torch.empty(x.shape, dtype=x32.dtype, device=x.device)
            _turn(gradient, table, dy, inverse=True)
            dy = dy.view(x32.shape)
            _, scale = normalised(x32, weight, eps)
            if dweight is not None:
                dweight.copy_(torch.mul(x32, scale).mul_(dy).sum(0))
            gradient.copy_(input_gradient(dy, x32, weight, scale).view(x.shape))

    return call


def attention_packed(o: Operands) -> Call:
    (qk, qkv, documents), (out, lse) = o.inputs, o.outputs
    heads, _, head_dim = _sizes(o)
    inputs = (*_q_k_v(o, qk, qkv), documents)
    return plain.attention(replace(o, inputs=inputs, outputs=(_heads(out, 0, heads, head_dim), lse)))


def attention_packed_backward(o: Operands) -> Call:
    (do, qk, qkv, out, lse, documents), (dqkv,) = o.inputs, o.outputs
    heads, _, head_dim = _sizes(o)
    do, out = _heads(do, 0, heads, head_dim), _heads(out, 0, heads, head_dim)
    inputs = (do, *_q_k_v(o, qk, qkv), out, lse, documents)
    return plain.attention_backward(replace(o, inputs=inputs, outputs=_q_k_v(o, dqkv, dqkv)))


def cached_attention_packed(o: Operands) -> Call:
    (qk, qkv, *cache), out = o.inputs, o.outputs[0]
    heads, _, head_dim = _sizes(o)
    inputs = (*_q_k_v(o, qk, qkv), *cache)
    return plain.cached_attention(replace(o, inputs=inputs, outputs=(_heads(out, 0, heads, head_dim),)))
