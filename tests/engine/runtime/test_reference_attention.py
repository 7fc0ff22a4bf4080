from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from engine.protocol.errors import EngineError
from engine.runtime.reference import attention
from tests.helpers.reference_ops import DTYPES, assert_close, call_op, draw, like, oracle, poisoned

# Tokens, document offsets: one document; ragged with an empty one and padding; nothing but padding; single tokens.
LAYOUTS = [(9, [0, 9]), (20, [0, 3, 3, 4, 15, 15]), (4, [0, 0, 0]), (3, [0, 1, 2, 3])]
SCALE = 0.37


def masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: list[int], window: int | None) -> torch.Tensor:
    """The definition over whole matrices: [N, H, HD] → o, with −∞ where a query may not look, zero on padding."""
    n, groups = q.shape[0], q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    document = torch.full((n,), -1)
    for number, (a, b) in enumerate(pairwise(offsets)):
        document[a:b] = number
    distance = torch.arange(n)[:, None] - torch.arange(n)
    seen = (document[:, None] == document) & (distance >= 0) & (document >= 0)[:, None]
    if window is not None:
        seen &= distance < window
    scores = torch.einsum("ihd,jhd->hij", q, k) * SCALE
    # Padding looks at itself, so that its softmax is defined, and is then set to zero.
    scores = scores.masked_fill(~(seen | torch.eye(n, dtype=torch.bool)), float("-inf"))
    return torch.einsum("hij,jhd->ihd", scores.softmax(-1), v) * (document >= 0)[:, None, None]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize(("heads", "kv_heads"), [(2, 2), (4, 1), (6, 2)])
@pytest.mark.parametrize(("n", "offsets"), LAYOUTS)
@pytest.mark.parametrize("block", [4, 128])
def test_attention_and_its_gradients(
    monkeypatch: pytest.MonkeyPatch,
    n: int,
    offsets: list[int],
    heads: int,
    kv_heads: int,
    window: int | None,
    dtype: torch.dtype,
    block: int,
) -> None:
    monkeypatch.setattr(attention, "QUERY_BLOCK", block)
    width = 8
    q, do = draw(n, heads, width, dtype=dtype), draw(n, heads, width, dtype=dtype, seed=1)
    k, v = draw(n, kv_heads, width, dtype=dtype, seed=2), draw(n, kv_heads, width, dtype=dtype, seed=3)
    documents = torch.tensor(offsets, dtype=torch.int32)
    attributes = {"causal": True, "window": window, "scale": SCALE}
    expected, gradients = oracle(lambda q, k, v: masked(q, k, v, offsets, window), [q, k, v], do)
    lse_dtype = torch.float64 if dtype == torch.float64 else torch.float32
    outputs = [*like(q), poisoned((n, heads), lse_dtype)]
    o, lse = call_op("attention", [q, k, v, documents], outputs, **attributes)
    assert_close(o, expected, terms=n)
    # The backward's own arithmetic is what is tested: give it o as exactly as its dtype holds it.
    saved = [do, q, k, v, o, lse, documents]
    for actual, exact in zip(call_op("attention_backward", saved, like(q, k, v), **attributes), gradients, strict=True):
        if dtype == torch.bfloat16:
            # δ = do · o inherits the rounding of the stored o: 2⁻⁸ of Σ|do·o|, times |s|-sized keys and queries.
            assert float((actual.double() - exact).abs().max()) <= 2.0**-8 * 4 * max(1.0, float(exact.abs().max()))
        else:
            assert_close(actual, exact, terms=n * heads)


def test_long_documents_agree_with_short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    n, offsets = 300, [0, 170, 290]
    q, k, v, do = draw(n, 4, 16), draw(n, 2, 16, seed=1), draw(n, 2, 16, seed=2), draw(n, 4, 16, seed=3)
    documents = torch.tensor(offsets, dtype=torch.int32)
    for window in (None, 40):
        attributes = {"causal": True, "window": window, "scale": SCALE}
        expected, gradients = oracle(lambda q, k, v, w=window: masked(q, k, v, offsets, w), [q, k, v], do)
        o, lse = call_op("attention", [q, k, v, documents], [*like(q), poisoned((n, 4), torch.float32)], **attributes)
        assert_close(o, expected, terms=n)
        saved = [do, q, k, v, o, lse, documents]
        results = call_op("attention_backward", saved, like(q, k, v), **attributes)
        for actual, exact in zip(results, gradients, strict=True):
            assert_close(actual, exact, terms=n * 4)


def test_attention_without_a_causal_mask() -> None:
    q, k, v = (draw(6, 2, 4, seed=seed) for seed in range(3))
    documents = torch.tensor([0, 6], dtype=torch.int32)
    o, _ = call_op(
        "attention",
        [q, k, v, documents],
        [*like(q), poisoned((6, 2), torch.float32)],
        causal=False,
        window=None,
        scale=0.5,
    )
    scores = torch.einsum("ihd,jhd->hij", q.double(), k.double()) * 0.5
    assert_close(o, torch.einsum("hij,jhd->ihd", scores.softmax(-1), v.double()), terms=6)


@pytest.mark.parametrize("offsets", [[0, 5, 4], [0, 7], [-1, 2]])
def test_bad_document_offsets_are_named(offsets: list[int]) -> None:
    q = draw(6, 1, 2)
    with pytest.raises(EngineError, match="offsets"):
        call_op(
            "attention",
            [q, q, q, torch.tensor(offsets, dtype=torch.int32)],
            [*like(q), poisoned((6, 1), torch.float32)],
            causal=True,
            window=None,
            scale=1.0,
        )


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("chunks", [[7], [4, 1, 1, 1], [1] * 7, [3, 8]])
def test_cached_attention_equals_attention_over_the_whole(chunks: list[int], window: int | None) -> None:
    """[3, 8]: the last chunk is longer than the room left; its surplus rows are padding and read as zero."""
    n, capacity = sum(chunks), min(sum(chunks), 9)
    q, k, v = draw(n, 4, 8), draw(n, 2, 8, seed=1), draw(n, 2, 8, seed=2)
    caches = [poisoned((capacity, 2, 8), torch.float32) for _ in range(2)]
    found, past = [], 0
    for length in chunks:
        piece = [tensor[past : past + length] for tensor in (q, k, v)]
        out = poisoned((length, 4, 8), torch.float32)
        with torch.no_grad():
            from engine.runtime.reference.operands import Operands

            inputs = (*piece, *caches, torch.tensor([past], dtype=torch.int32))
            attention.cached_attention(Operands("", inputs, (out, *caches), {"window": window, "scale": SCALE}))()
        found.append(out)
        past += length
    expected = masked(q.double(), k.double(), v.double(), [0, capacity], window)
    assert_close(torch.cat(found), expected, terms=n)
