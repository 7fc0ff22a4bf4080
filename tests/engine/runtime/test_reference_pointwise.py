from __future__ import annotations

import pytest
import torch

from engine.runtime.philox import Stream, random_words
from tests.helpers.reference_ops import (
    DTYPES,
    assert_close,
    call_op,
    draw,
    like,
    oracle,
    poisoned,
    weight_gradients_like,
)

DTYPE = pytest.mark.parametrize("dtype", DTYPES)


@DTYPE
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (5, 2, 8)])
def test_add_multiply_scale(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = draw(*shape, dtype=dtype), draw(*shape, dtype=dtype, seed=1)
    assert_close(call_op("add", [x, y], like(x))[0], x.double() + y.double())
    assert_close(call_op("multiply", [x, y], like(x))[0], x.double() * y.double())
    assert_close(call_op("scale", [x], like(x), factor=0.3)[0], x.double() * 0.3)


@DTYPE
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (33, 48)])
def test_swiglu_and_its_gradients(shape: tuple[int, int], dtype: torch.dtype) -> None:
    gate, up, dy = (draw(*shape, dtype=dtype, seed=seed) for seed in range(3))
    gate = gate * 4  # into both tails of the sigmoid
    y, gradients = oracle(lambda g, u: torch.nn.functional.silu(g) * u, [gate, up], dy)
    assert_close(call_op("swiglu", [gate, up], like(up))[0], y)
    for actual, expected in zip(call_op("swiglu_backward", [dy, gate, up], like(gate, up)), gradients, strict=True):
        assert_close(actual, expected)


def test_swiglu_stays_finite_at_the_ends_of_the_range() -> None:
    gate, one = torch.tensor([-3e38, -100.0, 0.0, 100.0, 3e38]), torch.ones(5)
    assert call_op("swiglu", [gate, one], like(gate))[0].isfinite().all()
    assert call_op("swiglu_backward", [one, gate, one], like(gate, one))[0].isfinite().all()


@DTYPE
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (33, 64), (6, 3, 16)])
def test_rms_norm_and_its_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    width, eps = shape[-1], 1e-5
    x, weight, dy = draw(*shape, dtype=dtype), draw(width, dtype=dtype), draw(*shape, dtype=dtype, seed=2)
    rstd_dtype = torch.float64 if dtype == torch.float64 else torch.float32

    def norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * w

    expected, (dx, dweight) = oracle(norm, [x, weight], dy)
    y, rstd = call_op("rms_norm", [x, weight], [*like(x), poisoned(shape[:-1], rstd_dtype)], eps=eps)
    assert_close(y, expected, terms=width)
    assert_close(rstd, (x.double().square().mean(-1) + eps).rsqrt(), terms=width)
    # dx is a small difference of large terms where a row is nearly parallel to its gradient (always, at width one).
    large = float((dy.double() * weight.double() * rstd.double()[..., None]).abs().max())
    assert_close(call_op("rms_norm_backward", [dy, x, weight, rstd], like(x))[0], dx, terms=width, magnitude=large)
    (actual,) = call_op("rms_norm_weight_backward", [dy, x, rstd], weight_gradients_like(weight))
    assert_close(actual, dweight, terms=x.numel() // width)


@DTYPE
def test_embedding_and_its_gradient_with_repeated_ids(dtype: torch.dtype) -> None:
    ids = torch.tensor([3, 0, 3, 3, 6], dtype=torch.int32)
    weight, dy = draw(7, 4, dtype=dtype), draw(5, 4, dtype=dtype)
    (x,) = call_op("embedding", [ids, weight], like(dy))
    assert torch.equal(x, weight[ids.long()])
    expected = torch.zeros(7, 4, dtype=torch.float64).index_add_(0, ids.long(), dy.double())
    (actual,) = call_op("embedding_backward", [ids, dy], weight_gradients_like(weight), vocabulary=7)
    assert_close(actual, expected, terms=3)


@DTYPE
@pytest.mark.parametrize(("heads", "width"), [(1, 2), (3, 8)])
def test_rope_turns_halves_and_its_inverse_is_its_gradient(heads: int, width: int, dtype: torch.dtype) -> None:
    positions = torch.tensor([0, 1, 2, 0, 100, 8191], dtype=torch.int32)
    x, dy = draw(6, heads, width, dtype=dtype), draw(6, heads, width, dtype=dtype, seed=2)
    frequencies = tuple((10_000.0 ** -(torch.arange(0, width, 2) / width)).tolist())
    # The angle is float32 by definition (as in transformers): the oracle must turn by exactly the same angle.
    angle = (positions.float()[:, None] * torch.tensor(frequencies)).repeat(1, 2)[:, None, :]
    cos, sin = angle.cos().double() * 1.25, angle.sin().double() * 1.25

    def turn(x: torch.Tensor) -> torch.Tensor:
        return x * cos + torch.cat((-x[..., width // 2 :], x[..., : width // 2]), -1) * sin

    y, (dx,) = oracle(turn, [x], dy)
    attributes = {"inverse_frequencies": frequencies, "attention_scaling": 1.25}
    assert_close(call_op("rope", [x, positions], like(x), inverse=False, **attributes)[0], y)
    assert_close(call_op("rope", [dy, positions], like(x), inverse=True, **attributes)[0], dx)


STATE = torch.tensor([11, 5, 2, 0])


def test_dropout_keeps_the_expected_share_and_scales_it() -> None:
    x = torch.ones(300, 3701)  # longer than a piece, and not a multiple of four
    (y,) = call_op("dropout", [x, STATE], like(x), probability=0.25, purpose=3, layer=1)
    kept = y != 0
    assert torch.equal(y[kept], torch.full_like(y[kept], 1 / 0.75))
    # Five standard deviations of a binomial count.
    assert abs(kept.double().mean().item() - 0.75) < 5 * (0.25 * 0.75 / x.numel()) ** 0.5


def test_dropouts_mask_is_the_documented_function_of_the_key() -> None:
    x = torch.ones(10, 33)
    (y,) = call_op("dropout", [x, STATE], like(x), probability=0.25, purpose=3, layer=1)
    words = random_words(Stream(seed=11, purpose=3, step=5, micro_batch=2, layer=1), x.numel())
    assert (y != 0).view(-1).tolist() == (words >= 2**30).tolist()


def test_dropout_is_a_function_of_its_key_and_the_element_alone() -> None:
    x = torch.ones(64, 64)
    attributes = {"probability": 0.5, "purpose": 3, "layer": 1}
    (first,) = call_op("dropout", [x, STATE], like(x), **attributes)
    (rest,) = call_op("dropout", [x[:8], STATE], like(x[:8]), **attributes)
    assert torch.equal(first[:8], rest)
    for changed in ({"layer": 2}, {"purpose": 4}):
        assert not torch.equal(call_op("dropout", [x, STATE], like(x), **{**attributes, **changed})[0], first)
    for position in range(3):
        state = STATE.clone()
        state[position] += 1
        assert not torch.equal(call_op("dropout", [x, state], like(x), **attributes)[0], first)


def test_dropout_of_probability_zero_is_the_identity() -> None:
    x = draw(5, 7)
    assert torch.equal(call_op("dropout", [x, STATE], like(x), probability=0.0, purpose=3, layer=1)[0], x)
