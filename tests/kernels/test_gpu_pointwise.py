"""swiglu.cu, dropout.cu, elementwise.cu and layout.cu: against float64 where there is arithmetic, else bit for bit."""

from __future__ import annotations

import pytest
import torch

from engine.runtime.philox import Stream, drop_threshold, random_words
from tests.helpers.gpu_kernels import F32, F32_EPSILON, assert_stored, draw, gpu, poisoned, same_bits, step_state

pytestmark = pytest.mark.gpu

# σ from ex2.approx and a division by reciprocal: 2⁻²² relative each, and |x| · log₂e · 2⁻²⁴ from rounding the exponent,
# which is 2⁻¹⁹ at the |x| < 20 where σ is neither 0 nor 1 to fp32. A dozen products of that: 2⁻¹⁷.
SIGMOID = 2.0**-17
COUNTS = [1, 7, 8, 1000, 4096 * 24 + 3]
SEED = 0xC0FFEE123456789A  # more than 63 bits: both halves of the key are used, and the sign bit is set


@pytest.mark.parametrize(("rows", "width"), [(1, 8), (3, 1032), (64, 3072), (7, 1536)])
def test_swiglu(rows: int, width: int) -> None:
    gate_up, dy = draw(rows, 2 * width, scale=4), draw(rows, width, seed=1)
    gate_up[0, :4] = torch.tensor([200.0, -200.0, 0.0, 88.0])  # exp overflows on one side
    y, dgate_up, second = poisoned(rows, width), poisoned(rows, 2 * width), poisoned(rows, width)
    sizes = {"rows": rows, "width": width}
    gpu().run("swiglu_forward", gate_up=gate_up, y=y, **sizes)
    gpu().run("swiglu_backward", dy=dy, gate_up=gate_up, dgate_up=dgate_up, y=second, **sizes)
    gate, up = gate_up.double().chunk(2, 1)
    sigma = gate.sigmoid()
    silu, upstream = gate * sigma, dy.double()
    assert_stored(y, silu * up, (silu * up).abs() * SIGMOID)
    assert same_bits(y, second)
    slope = sigma + silu * (1 - sigma)
    size = (upstream * up).abs() * (sigma + silu.abs())  # the slope is a sum of both signs where gate < 0
    dgate, dup = (half.contiguous() for half in dgate_up.chunk(2, 1))
    assert_stored(dgate, upstream * up * slope, size * SIGMOID)
    assert_stored(dup, upstream * silu, (upstream * silu).abs() * SIGMOID)
    gpu().run("swiglu_backward", dy=dy, gate_up=gate_up, dgate_up=gate_up, y=dy, **sizes)  # in place
    assert same_bits(gate_up, dgate_up) and same_bits(dy, y)


@pytest.mark.parametrize("probability", [0.05, 0.5])
@pytest.mark.parametrize("count", COUNTS)
def test_dropout_draws_the_reference_masks(count: int, probability: float) -> None:
    x = draw(count).abs() + 1  # no zeros of its own
    y, again = poisoned(count), poisoned(count)
    threshold, factor = drop_threshold(probability), 1.0 / (1.0 - probability)
    arguments = {
        "x": x, "step_state": step_state(SEED, 70_000, 3), "count": count, "threshold": threshold, "factor": factor,
        "purpose": 2, "layer": 35,
    }  # fmt: skip
    gpu().run("dropout", y=y, **arguments)
    gpu().run("dropout", y=again, **arguments)
    words = random_words(Stream(SEED, 2, 70_000, 3, 35), count)
    kept = torch.from_numpy(words >= threshold).cuda()
    assert same_bits(y, torch.where(kept, x.float() * factor, 0.0).bfloat16()) and same_bits(y, again)


@pytest.mark.parametrize("count", COUNTS)
def test_sums_and_multiples(count: int) -> None:
    x, y, z = draw(count), draw(count, seed=1), poisoned(count)
    wide_x, wide_y = x.float(), y.float()
    pair = {"x": x, "y": y, "z": z, "count": count}
    gpu().run("add", **pair)
    assert same_bits(z, (wide_x + wide_y).bfloat16())
    gpu().run("multiply", **pair)
    assert same_bits(z, (wide_x * wide_y).bfloat16())
    gpu().run("scale_add", factor=0.3, **pair)
    exact = x.double() + y.double() * float(torch.tensor(0.3, dtype=F32))
    assert_stored(z, exact, (x.double().abs() + y.double().abs()) * F32_EPSILON)
    gpu().run("add", x=x, y=y, z=x, count=count)
    assert same_bits(x, (wide_x + wide_y).bfloat16())


@pytest.mark.parametrize(("rows", "width"), [(1, 8), (33, 16), (100, 1000)])
def test_scale_copy_places_a_block_beside_another(rows: int, width: int) -> None:
    x, out = draw(rows, width + 24), poisoned(rows, 2 * width)
    sizes = {"rows": rows, "width": width, "x_stride": width + 24, "out_stride": 2 * width}
    right = out.data_ptr() + width * 2
    gpu().run("scale_copy", x=x, out=right, factor=2.5, **sizes)
    assert same_bits(out[:, width:].contiguous(), (x[:, :width].float() * 2.5).bfloat16())
    assert bool(out[:, :width].isnan().all())


@pytest.mark.parametrize("count", COUNTS)
def test_casts(count: int) -> None:
    x = draw(count, dtype=F32)
    narrow, back = poisoned(count), poisoned(count, dtype=F32)
    gpu().run("cast_to_bf16", x=x, y=narrow, count=count)
    assert same_bits(narrow, x.bfloat16())  # torch rounds to nearest even too
    gpu().run("cast_to_f32", x=narrow, y=back, count=count)
    assert same_bits(back, narrow.float())


def test_stochastic_rounding_uses_the_philox_word_and_is_unbiased() -> None:
    count = 1 << 20
    x = draw(count, dtype=F32)
    x[:4] = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0])
    y = poisoned(count)
    state = step_state(SEED, 9, 0)
    gpu().run("cast_to_bf16_stochastic", x=x, step_state=state, y=y, count=count, purpose=4, layer=1)
    words = torch.from_numpy(random_words(Stream(SEED, 4, 9, 0, 1), count).astype("int64")).cuda()
    bits = x.view(torch.int32).long() & 0xFFFFFFFF
    expected = ((bits + (words & 0xFFFF)) >> 16).to(torch.int16).view(torch.bfloat16)
    assert same_bits(y[3:], expected[3:])
    assert y[0] == float("inf") and y[1] == float("-inf") and y[2].isnan()
    unit = 2.0 ** (x[4:].double().abs().log2().floor() - 7)
    error = (y[4:].double() - x[4:].double()) / unit
    # In units of the last place the error lies in (−1, 1) with a variance of at most 1/4: five standard deviations.
    assert float(error.abs().max()) < 1 and abs(float(error.mean())) < 5 * 0.5 / count**0.5


@pytest.mark.parametrize(("rows", "width"), [(8, 8), (64, 64), (72, 200), (1000, 16), (16, 4096)])
def test_transpose(rows: int, width: int) -> None:
    x, y = draw(rows, width), poisoned(width, rows)
    gpu().run("transpose", x=x, y=y, rows=rows, width=width)
    assert same_bits(y, x.t().contiguous())


@pytest.mark.parametrize("words", [1, 4, 7, 100_003])
def test_zero_ends_where_it_is_told(words: int) -> None:
    y = poisoned(words + 1, dtype=F32)
    gpu().run("zero", y=y, bytes=4 * words)
    assert bool((y[:-1] == 0).all()) and bool(y[-1].isnan())
