"""rms_norm.cu, column_sum.cu and qk_norm_rope.cu against float64.

Tolerances. What is stored as bf16 may be off by half a unit in its last place, whatever was calculated (assert_stored).
Before that, fp32: a sum of n products whose rounding errors are at most eps each is off by less than
SLACK · eps · √n · (the sum of their magnitudes' root mean square); where terms may cancel, the bound is relative to the
magnitudes that went in, not to the result. SLACK = 8 covers the handful of operations around it and rsqrt's two units.
"""

from __future__ import annotations

import pytest
import torch

from engine.kernels.families.norm import strip_rows, strips
from engine.kernels.families.rope import weight_blocks
from tests.helpers.gpu_kernels import (
    F32,
    F32_EPSILON,
    assert_stored,
    draw,
    gpu,
    poisoned,
    same_bits,
    whole_numbers,
)

pytestmark = pytest.mark.gpu

SLACK = 8 * F32_EPSILON
SHAPES = [(1, 8), (3, 64), (37, 576), (129, 1024), (64, 4096), (1030, 256), (5, 8192), (2, 520)]
EPS = 1e-6


def normalised(s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(rstd[rows, 1], s · rstd), float64"""
    rstd = (s.double().square().mean(-1, keepdim=True) + EPS).rsqrt()
    return rstd, s.double() * rstd


@pytest.mark.parametrize("with_residual", [True, False])
@pytest.mark.parametrize(("rows", "width"), SHAPES)
def test_rms_norm_forward(rows: int, width: int, with_residual: bool) -> None:
    x, residual, weight = draw(rows, width), draw(rows, width, seed=1, scale=3), draw(width, seed=2)
    results = []
    for _ in range(2):
        total, y, rstd = poisoned(rows, width), poisoned(rows, width), poisoned(rows, dtype=F32)
        optional = {"residual": residual, "sum": total} if with_residual else {}
        gpu().run("rms_norm_forward", x=x, weight=weight, y=y, rstd=rstd, rows=rows, width=width, eps=EPS, **optional)
        results.append((total, y, rstd))
    total, y, rstd = results[0]
    assert all(same_bits(a, b) for a, b in zip(*results, strict=True))
    s = x
    if with_residual:
        s = (x.float() + residual.float()).bfloat16()  # one fp32 addition, one rounding: exactly this
        assert same_bits(total, s)
    exact_rstd, n = normalised(s)
    assert_stored(rstd, exact_rstd.view(-1), exact_rstd.view(-1) * SLACK)
    exact = n * weight.double()
    assert_stored(y, exact, exact.abs() * SLACK)


def test_rms_norm_forward_in_place() -> None:
    x, residual, weight = draw(9, 64), draw(9, 64, seed=1), draw(64, seed=2)
    total, y, rstd = poisoned(9, 64), poisoned(9, 64), poisoned(9, dtype=F32)
    sizes = {"weight": weight, "y": y, "rstd": rstd, "rows": 9, "width": 64, "eps": EPS}
    gpu().run("rms_norm_forward", x=x, residual=residual, sum=total, **sizes)
    gpu().run("rms_norm_forward", x=x, residual=residual, sum=residual, **sizes)
    assert same_bits(total, residual)


@pytest.mark.parametrize("with_residual", [True, False])
@pytest.mark.parametrize(("rows", "width"), SHAPES)
def test_rms_norm_backward(rows: int, width: int, with_residual: bool) -> None:
    dy, s, weight = draw(rows, width), draw(rows, width, seed=1, scale=2), draw(width, seed=2)
    dresidual = draw(rows, width, seed=3) if with_residual else None
    exact_rstd, n = normalised(s)
    rstd = exact_rstd.view(-1).float()
    inputs = {"dy": dy, "s": s, "weight": weight, "rstd": rstd, "dresidual": dresidual, "rows": rows, "width": width}
    g = dy.double() * weight.double()
    mean = (g * n).mean(-1, keepdim=True)
    through_norm = exact_rstd * (g - n * mean)
    exact = through_norm + (dresidual.double() if dresidual is not None else 0.0)
    # The mean is a sum of `width` terms of both signs: its error is relative to their magnitude, not to itself.
    magnitude = (g * n).abs().mean(-1, keepdim=True)
    arithmetic = (exact.abs() + exact_rstd * (g.abs() + n.abs() * magnitude)) * SLACK

    dx, partials, summed = (
        poisoned(rows, width),
        poisoned(strips(rows, width), width, dtype=F32),
        poisoned(width, dtype=F32),
    )
    gpu().run("rms_norm_backward", dx=dx, **inputs)
    assert_stored(dx, exact, arithmetic)

    again = poisoned(rows, width)
    for _ in range(2):
        before = summed.clone()
        partials.view(torch.uint8).fill_(0xFF)
        gpu().run("rms_norm_weight_backward", dx=again, partials=partials, strip=strip_rows(rows, width), **inputs)
        gpu().run("column_sum", partials=partials, out=summed, rows=strips(rows, width), width=width)
    assert same_bits(before, summed) and same_bits(dx, again)
    terms = dy.double() * n
    bound = terms.abs().sum(0) * SLACK  # a sum's error is at most its terms' magnitudes times (√rows ≪ rows) eps
    assert_stored(summed, terms.sum(0), bound)


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (3, 7), (512, 4096), (1000, 33)])
def test_column_sum(rows: int, width: int) -> None:
    partials, out, again = draw(rows, width, dtype=F32), poisoned(width, dtype=F32), poisoned(width, dtype=F32)
    gpu().run("column_sum", partials=partials, out=out, rows=rows, width=width)
    gpu().run("column_sum", partials=partials, out=again, rows=rows, width=width)
    assert same_bits(out, again)
    assert_stored(out, partials.double().sum(0), partials.double().abs().sum(0) * SLACK)


@pytest.mark.parametrize(("rows", "width"), [(1, 8), (77, 1032), (4096, 512)])
def test_bias_backward(rows: int, width: int) -> None:
    dy, partials, out = draw(rows, width), poisoned(strips(rows, width), width, dtype=F32), poisoned(width, dtype=F32)
    gpu().run("bias_backward_strip", dy=dy, partials=partials, rows=rows, width=width, strip=strip_rows(rows, width))
    gpu().run("column_sum", partials=partials, out=out, rows=strips(rows, width), width=width)
    assert_stored(out, dy.double().sum(0), dy.double().abs().sum(0) * SLACK)


# (tokens, q_heads, k_heads, head_dim): Qwen3, Llama, odd numbers of heads, head widths that fill no power of two
HEADS = [(1, 1, 1, 16), (33, 16, 8, 128), (65, 9, 3, 64), (7, 5, 1, 96), (12, 4, 4, 256), (3, 2, 1, 80), (4, 1, 1, 512)]
SCALING = 1.25


def frequencies(head_dim: int) -> torch.Tensor:
    return (10000.0 ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)).float().cuda()


def table_of(positions: torch.Tensor, head_dim: int) -> torch.Tensor:
    table = poisoned(len(positions), head_dim // 2, 2, dtype=F32)
    sizes = {"tokens": len(positions), "half": head_dim // 2, "scaling": SCALING}
    gpu().run("rope_table", positions=positions, frequencies=frequencies(head_dim), table=table, **sizes)
    return table


@pytest.mark.parametrize("head_dim", [16, 64, 128])
def test_rope_table(head_dim: int) -> None:
    positions = whole_numbers(131072, 100)
    table = table_of(positions, head_dim)
    # The angle is an fp32 product by definition (as transformers forms it); its sine and cosine are then exact to
    # two units of fp32 for any size of the angle, and scaled once.
    angle = (positions.float()[:, None] * frequencies(head_dim)).double()
    exact = torch.stack((angle.cos(), angle.sin()), -1) * SCALING
    assert_stored(table, exact, 2 * F32_EPSILON * SCALING)


def turned(x: torch.Tensor, table: torch.Tensor, inverse: bool = False) -> torch.Tensor:
    """x[N, h, HD] float64"""
    cosine, sine = table.double()[:, None, :, 0], table.double()[:, None, :, 1] * (-1 if inverse else 1)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cosine - b * sine, b * cosine + a * sine), -1)


class Packed:
    """A packed QKV activation whose rows are longer than they must be, and everything that goes with it."""

    def __init__(self, tokens: int, q_heads: int, k_heads: int, head_dim: int, normed: bool) -> None:
        self.width, self.heads = (q_heads + 2 * k_heads) * head_dim, q_heads + k_heads
        self.stride = self.width + 8
        self.qkv = draw(tokens, self.stride)
        self.table = table_of(whole_numbers(40960, tokens), head_dim)
        self.q_weight = draw(head_dim, seed=5) if normed else None
        self.k_weight = draw(head_dim, seed=6) if normed else None
        self.sizes = {"tokens": tokens, "q_heads": q_heads, "k_heads": k_heads, "head_dim": head_dim, "eps": EPS}
        self.inputs = {"q_weight": self.q_weight, "k_weight": self.k_weight, "table": self.table, **self.sizes}
        self.shape = tokens, self.heads, head_dim
        self.q_heads, self.normed = q_heads, normed

    def head_weights(self) -> torch.Tensor:
        """float64 [heads, HD]; ones where there is no norm"""
        _, heads, head_dim = self.shape
        if self.q_weight is None or self.k_weight is None:
            return torch.ones(heads, head_dim, dtype=torch.float64, device="cuda")
        rows = [self.q_weight] * self.q_heads + [self.k_weight] * (heads - self.q_heads)
        return torch.stack(rows).double()

    def x(self) -> torch.Tensor:
        return self.of(self.qkv)

    def of(self, rows: torch.Tensor) -> torch.Tensor:
        """q and k heads of packed rows as float64 [tokens, heads, HD]"""
        tokens, heads, head_dim = self.shape
        return rows[:, : heads * head_dim].double().view(tokens, heads, head_dim)

    def untouched(self, rows: torch.Tensor) -> torch.Tensor:
        return rows[:, self.heads * self.shape[2] :].contiguous()


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize("shape", HEADS)
def test_qk_norm_rope_forward(shape: tuple[int, int, int, int], normed: bool) -> None:
    p = Packed(*shape, normed)
    y, again = poisoned(shape[0], p.width), poisoned(shape[0], p.width)
    for out in (y, again):
        gpu().run("qk_norm_rope_forward", qkv=p.qkv, y=out, stride=p.stride, y_stride=p.width, **p.inputs)
    assert same_bits(y, again)
    assert bool(p.untouched(y).isnan().all()), "only q and k heads are written"
    n = (normalised(p.x())[1] if normed else p.x()) * p.head_weights()
    exact = turned(n, p.table)
    # Each output is a difference of two products of the pair: relative to the pair's magnitude.
    a, b = n.abs().chunk(2, -1)
    pair = torch.cat((a + b, a + b), -1) * SCALING
    assert_stored(p.of(y).bfloat16(), exact, pair * SLACK)


def test_rope_forward_in_place_leaves_v_alone() -> None:
    p = Packed(21, 6, 2, 64, False)
    y, v = poisoned(21, p.stride), p.untouched(p.qkv)
    gpu().run("qk_norm_rope_forward", qkv=p.qkv, y=y, stride=p.stride, y_stride=p.stride, **p.inputs)
    gpu().run("qk_norm_rope_forward", qkv=p.qkv, y=p.qkv, stride=p.stride, y_stride=p.stride, **p.inputs)
    assert torch.equal(p.of(y), p.of(p.qkv)) and same_bits(v, p.untouched(p.qkv))


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize("shape", HEADS)
def test_qk_norm_rope_backward(shape: tuple[int, int, int, int], normed: bool) -> None:
    p = Packed(*shape, normed)
    tokens, _, _, head_dim = shape
    dy, dx = draw(tokens, p.width, seed=9), poisoned(tokens, p.stride)
    strides = {"dy_stride": p.width, "stride": p.stride, "dx_stride": p.stride}
    gpu().run("qk_norm_rope_backward", dy=dy, qkv=p.qkv if normed else None, dx=dx, **p.inputs, **strides)
    assert bool(p.untouched(dx).isnan().all())
    upstream = p.of(dy)
    g = turned(upstream, p.table, inverse=True)
    a, b = upstream.abs().chunk(2, -1)
    exact, arithmetic = g, torch.cat((a + b, a + b), -1) * SCALING
    pair = arithmetic
    if normed:
        rstd, n = normalised(p.x())
        gw, weight = g * p.head_weights(), p.head_weights().abs()
        exact = rstd * (gw - n * (gw * n).mean(-1, keepdim=True))
        arithmetic = rstd * (pair * weight + n.abs() * (pair * weight * n.abs()).mean(-1, keepdim=True))
    assert_stored(p.of(dx).bfloat16(), exact, arithmetic * SLACK)
    if not normed:
        return
    blocks = weight_blocks(*shape)
    partials, dweight = poisoned(blocks, 2 * head_dim, dtype=F32), poisoned(2, head_dim, dtype=F32)
    for _ in range(2):  # the second time in place, on a copy
        before, inplace = dweight.clone(), torch.zeros_like(dx)
        inplace[:, : p.width] = dy
        at = {"dy_stride": p.stride, "stride": p.stride, "dx_stride": p.stride}
        gpu().run(
            "qk_norm_rope_weight_backward", dy=inplace, qkv=p.qkv, dx=inplace, partials=partials, **p.inputs, **at
        )
        gpu().run("column_sum", partials=partials, out=dweight, rows=blocks, width=2 * head_dim)
    assert same_bits(before, dweight) and torch.equal(p.of(inplace), p.of(dx))
    terms, size = g * n, pair * n.abs()
    for which, heads in enumerate((slice(0, p.q_heads), slice(p.q_heads, None))):
        assert_stored(dweight[which], terms[:, heads].sum((0, 1)), size[:, heads].sum((0, 1)) * SLACK)
