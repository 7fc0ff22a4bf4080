"""Causal attention within documents, with grouped key-value heads and a sliding window, and its backward by hand.

    s_ij = scale · q_i · k_j   over the keys j that i may see:  i − window < j ≤ i, in the same document
    lse_i = log Σ_j exp s_ij,   p_ij = exp(s_ij − lse_i),   o_i = Σ_j p_ij v_j
    δ_i = do_i · o_i,   ds_ij = p_ij (do_i · v_j − δ_i)          (Dao et al. 2022, backward from o and lse alone)
    dq_i = scale Σ_j ds_ij k_j,   dk_j = scale Σ_i ds_ij q_i,   dv_j = Σ_i p_ij do_i

Layouts: q, o, do [N, H, HD]; k, v [N, K, HD]; lse f32[N, H]; query head h reads key-value head h // (H / K).
A document is worked through in blocks of queries, each against exactly the stretch of keys it can see: scores of a
whole document never exist, and a window saves its share of the work. The G = H / K query heads of one key-value head
are rows of one product, so keys are never repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch

from engine.protocol.errors import Bug
from engine.runtime.reference.operands import Call, Operands, softmax_in_place, wide

QUERY_BLOCK = 128


@dataclass(frozen=True)
class Reach:
    """Which keys a query sees, and the factor of the scores."""

    causal: bool
    window: int | None
    scale: float

    def blocks(self, length: int) -> Iterator[tuple[int, int, int, int]]:
        """(first query, end of queries, first key, end of keys) for a document of that length."""
        for i0 in range(0, length, QUERY_BLOCK):
            i1 = min(i0 + QUERY_BLOCK, length)
            j0 = 0 if self.window is None else max(0, i0 - self.window + 1)
            yield i0, i1, j0, i1 if self.causal else length

    def hide(self, scores: torch.Tensor, ahead: int) -> None:
        """Write −∞ on the keys out of reach. scores[..., b, keys]; `ahead` = first query − first key."""
        b, keys = scores.shape[-2:]
        distance = torch.arange(ahead, ahead + b, device=scores.device)[:, None] - torch.arange(
            keys, device=scores.device
        )
        hidden = torch.zeros_like(distance, dtype=torch.bool)
        if self.causal:
            hidden |= distance < 0
        if self.window is not None:
            hidden |= distance >= self.window
        scores.masked_fill_(hidden, float("-inf"))


def _reach(o: Operands) -> Reach:
    return Reach(o.flag("causal"), _window(o), o.number("scale"))


def _window(o: Operands) -> int | None:
    return None if o.attributes["window"] is None else o.integer("window")


def _grouped(tensor: torch.Tensor, kv_heads: int) -> torch.Tensor:
    """[b, H, HD] → [K, G·b, HD], in the calculating dtype"""
    b, heads, width = tensor.shape
    return wide(tensor).view(b, kv_heads, heads // kv_heads, width).permute(1, 2, 0, 3).reshape(kv_heads, -1, width)


def _ungrouped(tensor: torch.Tensor, b: int) -> torch.Tensor:
    """[K, G·b, HD] → [b, K, G, HD]"""
    kv_heads, _, width = tensor.shape
    return tensor.view(kv_heads, -1, b, width).permute(2, 0, 1, 3)


def _scores(q: torch.Tensor, k: torch.Tensor, b: int, ahead: int, reach: Reach) -> torch.Tensor:
    """q[K, G·b, HD], k[K, keys, HD] → scaled scores [K, G·b, keys] with −∞ out of reach"""
    scores = torch.bmm(q, k.transpose(1, 2)).mul_(reach.scale)
    reach.hide(scores.view(k.shape[0], -1, b, k.shape[1]), ahead)
    return scores


def _attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ahead: int, reach: Reach
) -> tuple[torch.Tensor, torch.Tensor]:
    """q[b, H, HD] over k, v [keys, K, HD] → o[b, K, G, HD], lse[b, K, G]"""
    b, kv_heads = q.shape[0], k.shape[1]
    scores = _scores(_grouped(q, kv_heads), wide(k).transpose(0, 1), b, ahead, reach)
    lse = softmax_in_place(scores)
    o = torch.bmm(scores, wide(v).transpose(0, 1))
    return _ungrouped(o, b), _ungrouped(lse, b).squeeze(-1)


def documents_of(documents: torch.Tensor, tokens: int) -> list[tuple[int, int]]:
    """The non-empty documents of a micro-batch as (first token, end). Bug for offsets that run backwards or out."""
    offsets = documents.tolist()
    if any(b < a for a, b in pairwise(offsets)) or offsets[0] < 0 or offsets[-1] > tokens:
        raise Bug(
            "document_offsets",
            f"The document offsets {offsets[:8]}… of a micro-batch of {tokens} tokens are not ascending within it.",
            "This is a fault of the engine's packing; please report it with the dataset.",
        )
    return [(a, b) for a, b in pairwise(offsets) if b > a]


def attention(o: Operands) -> Call:
    (q, k, v, documents), (out, lse) = o.inputs, o.outputs
    tokens, heads, width = q.shape
    kv_heads, reach = k.shape[1], _reach(o)
    grouped_out = out.view(tokens, kv_heads, heads // kv_heads, width)
    grouped_lse = lse.view(tokens, kv_heads, heads // kv_heads)

    def call() -> None:
        out.zero_()  # padding reads as zero, whatever lay there before
        lse.zero_()
        for start, end in documents_of(documents, tokens):
            for i0, i1, j0, j1 in reach.blocks(end - start):
                queries, keys = slice(start + i0, start + i1), slice(start + j0, start + j1)
                block, log_sum = _attend(q[queries], k[keys], v[keys], i0 - j0, reach)
                grouped_out[queries] = block
                grouped_lse[queries] = log_sum

    return call


def attention_backward(o: Operands) -> Call:
    do, q, k, v, out, lse, documents = o.inputs
    tokens, kv_heads, reach = q.shape[0], k.shape[1], _reach(o)
    dtype = wide(q[:0]).dtype

    def call() -> None:
        for gradient in o.outputs:
            gradient.zero_()
        # Keys gather from many blocks of queries: sum in the calculating dtype, round once at the end.
        dq, dk, dv = (g if g.dtype == dtype else torch.zeros(g.shape, dtype=dtype, device=g.device) for g in o.outputs)
        for start, end in documents_of(documents, tokens):
            for i0, i1, j0, j1 in reach.blocks(end - start):
                rows, keys = slice(start + i0, start + i1), slice(start + j0, start + j1)
                saved = (do[rows], q[rows], k[keys], v[keys], out[rows], lse[rows])
                dq_block, dk_block, dv_block = _attend_backward(*saved, ahead=i0 - j0, reach=reach)
                dq[rows].view(i1 - i0, kv_heads, -1, q.shape[2]).copy_(dq_block)
                dk[keys] += dk_block
                dv[keys] += dv_block
        for gradient, total in zip(o.outputs, (dq, dk, dv), strict=True):
            if gradient is not total:
                gradient.copy_(total)

    return call


def _attend_backward(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
    *,
    ahead: int,
    reach: Reach,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """One block of queries against its keys → dq[b, K, G, HD], dk[keys, K, HD], dv[keys, K, HD]"""
    b, kv_heads = q.shape[0], k.shape[1]
    q, do, out = (_grouped(tensor, kv_heads) for tensor in (q, do, out))
    k, v = wide(k).transpose(0, 1), wide(v).transpose(0, 1)
    p = _scores(q, k, b, ahead, reach).sub_(_grouped(lse.unsqueeze(-1), kv_heads)).exp_()
    dv = torch.bmm(p.transpose(1, 2), do)
    delta = torch.mul(do, out).sum(-1, keepdim=True)
    ds = torch.bmm(do, v.transpose(1, 2)).sub_(delta).mul_(p).mul_(reach.scale)
    dq, dk = torch.bmm(ds, k), torch.bmm(ds.transpose(1, 2), q)
    return _ungrouped(dq, b), dk.transpose(0, 1), dv.transpose(0, 1)


def cached_attention(o: Operands) -> Call:
    """Queries that follow `cache_length` tokens: append k, v to the caches, then attend over cache and chunk.

    q[N, H, HD], k, v [N, K, HD], k_cache, v_cache [C, K, HD], cache_length i32[1] → o[N, H, HD]; the caches change in
    place. Rows beyond the cache's end can only be padding of a last chunk: they are not stored, and their o is zero.
    """
    q, k, v, k_cache, v_cache, cache_length = o.inputs
    out = o.outputs[0]
    tokens, heads, width = q.shape
    capacity, kv_heads = k_cache.shape[:2]
    reach = Reach(True, _window(o), o.number("scale"))
    grouped_out = out.view(tokens, kv_heads, heads // kv_heads, width)

    def call() -> None:
        past = int(cache_length.item())
        fitting = min(tokens, capacity - past)
        k_cache[past : past + fitting] = k[:fitting]
        v_cache[past : past + fitting] = v[:fitting]
        out.zero_()
        for i0 in range(0, fitting, QUERY_BLOCK):
            i1 = min(i0 + QUERY_BLOCK, fitting)
            j0 = 0 if reach.window is None else max(0, past + i0 - reach.window + 1)
            keys = slice(j0, past + i1)
            block, _ = _attend(q[i0:i1], k_cache[keys], v_cache[keys], past + i0 - j0, reach)
            grouped_out[i0:i1] = block

    return call
