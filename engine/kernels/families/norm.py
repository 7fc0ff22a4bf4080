"""rms_norm.cu and column_sum.cu: residual add + RMSNorm over rows, and sums over rows."""

from __future__ import annotations

from engine.kernels.spec import (
    BF16_BYTES,
    F32_BYTES,
    PACK,
    Arguments,
    KernelCost,
    KernelSpec,
    Launch,
    array,
    float32,
    int32,
    numbers,
    optional_array,
    packs_of,
    positive,
    quotient_up,
    whole,
)

WIDEST = 8192  # 512 threads, two packs each
# Blocks of a weight gradient: enough to fill any GPU, few enough partial sums; wide rows have more threads a block.
STRIPS, WIDE_STRIPS, WIDE = 512, 256, 2048
SHAPE = (packs_of("width", WIDEST), positive("rows"))


def strip_rows(rows: int, width: int) -> int:
    """Consecutive rows a block adds up before the second stage."""
    return quotient_up(rows, WIDE_STRIPS if width > WIDE else STRIPS)


def strips(rows: int, width: int) -> int:
    """How many rows of partial sums there are."""
    return quotient_up(rows, strip_rows(rows, width))


def _threads(width: int) -> int:
    return max(32, quotient_up(width // PACK, 2 * 32) * 32)


def _launch_rows(a: Arguments) -> Launch:
    return Launch((whole(a, "rows"), 1, 1), (_threads(whole(a, "width")), 1, 1))


def _launch_strips(a: Arguments) -> Launch:
    blocks = quotient_up(whole(a, "rows"), whole(a, "strip"))
    return Launch((blocks, 1, 1), (_threads(whole(a, "width")), 1, 1))


def _row_cost(a: Arguments, arrays: int, flops: int) -> KernelCost:
    rows, width = whole(a, "rows"), whole(a, "width")
    moved = rows * width * arrays * BF16_BYTES + width * BF16_BYTES + rows * F32_BYTES
    return KernelCost(moved, rows * width * flops)


def _forward_cost(a: Arguments) -> KernelCost:
    return _row_cost(a, 4 if a["residual"] else 2, 5)


def _backward_cost(a: Arguments) -> KernelCost:
    return _row_cost(a, 4 if a["dresidual"] else 3, 9)


def _weight_backward_cost(a: Arguments) -> KernelCost:
    dx = _row_cost(a, 4 if a["dresidual"] else 3, 12)
    return KernelCost(dx.bytes + whole(a, "width") * F32_BYTES, dx.flops)


def _column_sum_cost(a: Arguments) -> KernelCost:
    rows, width = whole(a, "rows"), whole(a, "width")
    return KernelCost((rows + 1) * width * F32_BYTES, rows * width)


def _bias_cost(a: Arguments) -> KernelCost:
    rows, width = whole(a, "rows"), whole(a, "width")
    return KernelCost(rows * width * BF16_BYTES + width * F32_BYTES, rows * width)


def _launch_bias(a: Arguments) -> Launch:
    blocks = quotient_up(whole(a, "rows"), whole(a, "strip"))
    return Launch((blocks, quotient_up(whole(a, "width"), 64 * PACK), 1), (64, 1, 1))


def _launch_column_sum(a: Arguments) -> Launch:
    return Launch((quotient_up(whole(a, "width"), 32), 1, 1), (32, 16, 1))


_UPSTREAM = (array("dy"), array("s"), array("weight"), numbers("rstd"), optional_array("dresidual"), array("dx"))

SPECS = (
    KernelSpec(
        "rms_norm_forward",
        "rms_norm.cu",
        (
            array("x"),
            optional_array("residual"),
            array("weight"),
            optional_array("sum"),
            array("y"),
            numbers("rstd"),
            *int32("rows", "width"),
            *float32("eps"),
        ),
        _launch_rows,
        _forward_cost,
        SHAPE,
    ),
    KernelSpec(
        "rms_norm_backward",
        "rms_norm.cu",
        (*_UPSTREAM, *int32("rows", "width")),
        _launch_rows,
        _backward_cost,
        SHAPE,
    ),
    KernelSpec(
        "rms_norm_weight_backward",
        "rms_norm.cu",
        (*_UPSTREAM, array("partials"), *int32("rows", "width", "strip")),
        _launch_strips,
        _weight_backward_cost,
        (*SHAPE, positive("strip")),
    ),
    KernelSpec(
        "column_sum",
        "column_sum.cu",
        (numbers("partials"), numbers("out"), *int32("rows", "width")),
        _launch_column_sum,
        _column_sum_cost,
        (positive("rows", "width"),),
    ),
    KernelSpec(
        "bias_backward_strip",
        "column_sum.cu",
        (array("dy"), array("partials"), *int32("rows", "width", "strip")),
        _launch_bias,
        _bias_cost,
        (packs_of("width"), positive("rows", "strip")),
    ),
)
