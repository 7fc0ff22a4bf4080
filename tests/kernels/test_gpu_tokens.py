"""embedding.cu and cross_entropy.cu against float64 and against torch's exact operations."""

from __future__ import annotations

import pytest
import torch

from engine.kernels.families.tokens import cached_packs
from tests.helpers.gpu_kernels import (
    F32,
    F32_EPSILON,
    I32,
    assert_stored,
    draw,
    gpu,
    poisoned,
    same_bits,
    whole_numbers,
)

pytestmark = pytest.mark.gpu

SHAPES = [(1, 8, 5), (100, 1032, 7), (513, 64, 300), (4096, 16, 50_000)]


@pytest.mark.parametrize(("tokens", "width", "vocabulary"), SHAPES)
def test_embedding_forward(tokens: int, width: int, vocabulary: int) -> None:
    ids, weight, x = whole_numbers(vocabulary, tokens), draw(vocabulary, width), poisoned(tokens, width)
    gpu().run("embedding_forward", ids=ids, weight=weight, x=x, tokens=tokens, width=width, vocabulary=vocabulary)
    assert same_bits(x, weight[ids.long()])


def test_an_id_outside_the_table_shows() -> None:
    ids, weight, x = torch.tensor([0, 3, -1], dtype=I32, device="cuda"), draw(3, 8), torch.zeros(3, 8).bfloat16().cuda()
    gpu().run("embedding_forward", ids=ids, weight=weight, x=x, tokens=3, width=8, vocabulary=3)
    assert same_bits(x[0], weight[0]) and bool(x[1:].isnan().all())


@pytest.mark.parametrize(("tokens", "width", "vocabulary"), SHAPES)
def test_embedding_backward(tokens: int, width: int, vocabulary: int) -> None:
    ids, dy = whole_numbers(vocabulary, tokens), draw(tokens, width)
    order = poisoned(tokens, dtype=I32)
    gpu().run("embedding_order", ids=ids, order=order, tokens=tokens)
    assert torch.equal(order.long(), torch.sort(ids, stable=True).indices)
    before = draw(vocabulary, width, dtype=F32, seed=3)
    before[vocabulary - 1] = float("nan") if not bool((ids == vocabulary - 1).any()) else 0.0  # not there: not touched
    results = []
    for _ in range(2):
        dweight = before.clone()
        sizes = {"tokens": tokens, "width": width, "vocabulary": vocabulary}
        gpu().run("embedding_backward", ids=ids, order=order, dy=dy, dweight=dweight, **sizes)
        results.append(dweight)
    assert same_bits(*results)
    # Added one by one in token order in fp32: that can be repeated exactly on the CPU.
    expected, rows = before.cpu(), dy.float().cpu()
    for n, each in enumerate(ids.tolist()):
        expected[each] += rows[n]
    assert same_bits(results[0], expected.cuda())


class Chunk:
    """Logits of a chunk with everything that goes with them; column V and later is padding that must not count."""

    def __init__(self, rows: int, vocabulary: int) -> None:
        self.rows, self.vocabulary, self.stride = rows, vocabulary, (vocabulary + 7) // 8 * 8 + 8
        self.logits = poisoned(rows, self.stride)
        self.logits[:, :vocabulary] = draw(rows, vocabulary, scale=4)
        self.logits[0, vocabulary // 2] = 150.0  # exp overflows without the maximum
        self.targets = whole_numbers(vocabulary, rows)
        self.weights = torch.rand(rows, generator=torch.Generator().manual_seed(rows)).cuda()
        if rows > 2:
            self.weights[1], self.targets[1] = 0.0, -100
            self.logits[1] = float("nan")  # a token that does not count is not even looked at
        self.sizes = {"rows": rows, "vocabulary": vocabulary, "stride": self.stride}
        z = self.logits[:, :vocabulary].double()
        z[self.weights == 0] = 0.0
        self.lse = torch.logsumexp(z, 1)
        index = self.targets.long().clamp(min=0)[:, None]
        weight = self.weights.double()
        self.losses = weight * (self.lse - z.gather(1, index).view(-1))
        self.largest = z.argmax(1)
        probabilities = torch.softmax(z, 1)
        onehot = torch.zeros_like(z).scatter_(1, index, 1.0)
        self.gradient = weight[:, None] * (probabilities - onehot)
        self.size = weight[:, None] * (probabilities + onehot)

    @property
    def inputs(self) -> dict[str, torch.Tensor]:
        return {"targets": self.targets, "weights": self.weights}

    def loss_bound(self) -> torch.Tensor:
        # lse is a difference-free sum of exponentials: 2⁻²² relative each, and the exponents' rounding, |z| · 2⁻²³,
        # on an lse whose own magnitude rounds too.
        return self.weights.double() * (2.0**-20 + (self.lse.abs() + 20) * 4 * F32_EPSILON)


CHUNKS = [(1, 5), (3, 8), (5, 32_003), (7, 151_936), (300, 1000), (4, 4096)]


@pytest.mark.parametrize(("rows", "vocabulary"), CHUNKS)
def test_cross_entropy(rows: int, vocabulary: int) -> None:
    chunk = Chunk(rows, vocabulary)
    most = cached_packs(gpu().shared_bytes, chunk.stride)
    results = [run_chunk(chunk, cached) for cached in (0, most, most // 3)]
    assert all(same_bits(a, b) for other in results for a, b in zip(results[0], other, strict=True))
    assert_chunk(chunk, *results[0])


def run_chunk(chunk: Chunk, cached: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(what stands in the logits' place, losses)"""
    logits, losses = chunk.logits.clone(), poisoned(chunk.rows, dtype=F32)
    gpu().run("cross_entropy", logits=logits, losses=losses, cached=cached, **chunk.inputs, **chunk.sizes)
    return logits, losses


def assert_chunk(chunk: Chunk, gradient: torch.Tensor, losses: torch.Tensor) -> None:
    assert bool((gradient[:, chunk.vocabulary :] == 0).all()), "padding columns are zero, so a GEMM may read them"
    assert bool((gradient[chunk.weights == 0] == 0).all())
    assert_stored(losses, chunk.losses, chunk.loss_bound())
    # ex2 and the sum: 2⁻²¹; the exponent's rounding: 150 · log₂e · 2⁻²⁴ < 2⁻¹⁶.
    assert_stored(gradient[:, : chunk.vocabulary].contiguous(), chunk.gradient, chunk.size * 2.0**-15)


def test_a_target_outside_the_vocabulary_shows() -> None:
    chunk = Chunk(3, 64)
    chunk.targets[0] = 64
    gradient, losses = run_chunk(chunk, 0)
    assert losses.isnan().tolist() == [True, False, False]
    assert bool(gradient[0, :64].isnan().all()) and not bool(gradient[1:].isnan().any())


@pytest.mark.parametrize(("rows", "vocabulary"), CHUNKS)
def test_cross_entropy_evaluate(rows: int, vocabulary: int) -> None:
    chunk = Chunk(rows, vocabulary)
    chunk.targets[: rows // 2] = torch.where(chunk.weights > 0, chunk.largest, -100)[: rows // 2].int()
    if rows > 3:  # two logits are equal and largest: the first of them is the prediction
        chunk.logits[2, :vocabulary], chunk.logits[2, 1], chunk.logits[2, 3], chunk.targets[2] = 0.0, 9.0, 9.0, 3
        chunk.logits[3, :vocabulary], chunk.logits[3, 1], chunk.logits[3, 3], chunk.targets[3] = 0.0, 9.0, 9.0, 1
    losses, correct, before = poisoned(rows, dtype=F32), poisoned(rows, dtype=F32), chunk.logits.clone()
    gpu().run(
        "cross_entropy_evaluate", logits=chunk.logits, losses=losses, correct=correct, **chunk.inputs, **chunk.sizes
    )
    assert same_bits(before, chunk.logits)
    z = chunk.logits[:, :vocabulary].double()
    z[chunk.weights == 0] = 0.0
    index = chunk.targets.long().clamp(min=0)
    exact = chunk.weights.double() * (torch.logsumexp(z, 1) - z.gather(1, index[:, None]).view(-1))
    assert_stored(losses, exact, chunk.loss_bound())
    # torch leaves open which of equal maxima argmax names; the first is found on a comparison.
    first = (z == z.amax(1, keepdim=True)).int().argmax(1)
    assert torch.equal(correct, torch.where(first == index, chunk.weights, 0.0))


@pytest.mark.parametrize("count", [1, 33, 1024, 40_001])
def test_ordered_sum(count: int) -> None:
    values, out = draw(count, dtype=F32), poisoned(1, dtype=F32)
    gpu().run("ordered_sum", values=values, out=out, count=count)
    exact = values.double().sum()
    assert_stored(out, exact[None], 1e-12)  # added in fp64
