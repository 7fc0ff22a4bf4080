"""swiglu.cu, dropout.cu, elementwise.cu, layout.cu: one element in, one element out."""

from __future__ import annotations

from engine.kernels.spec import (
    BF16_BYTES,
    COUNT,
    F32_BYTES,
    PACK,
    STEP_STATE,
    VECTOR_BYTES,
    Arguments,
    Demand,
    KernelCost,
    KernelSpec,
    Launch,
    Parameter,
    array,
    bytes_each,
    float32,
    int32,
    launch_pieces,
    optional_array,
    packs_of,
    positive,
    quotient_up,
    whole,
)

TILE = 64
_COUNTED = (positive("count"),)
_NUMBERED = (Demand("numbers at most 2³⁴ − 8 elements", lambda a: 0 < a["count"] <= (1 << 34) - 8),)
_ROWS = (packs_of("width"), positive("rows"))


def _launch_swiglu(a: Arguments) -> Launch:
    rows, width = whole(a, "rows"), whole(a, "width")
    return Launch((rows, quotient_up(width, 128 * PACK), 1), (128, 1, 1))


def _swiglu_cost(a: Arguments, arrays: int, flops: int) -> KernelCost:
    elements = whole(a, "rows") * whole(a, "width")
    return KernelCost(elements * arrays * BF16_BYTES, elements * flops)


def _swiglu_backward_cost(a: Arguments) -> KernelCost:
    return _swiglu_cost(a, 6 if a["y"] else 5, 12)


def _launch_scale_copy(a: Arguments) -> Launch:
    packs = whole(a, "rows") * whole(a, "width") // PACK
    return Launch((quotient_up(packs, 256), 1, 1), (256, 1, 1))


def _copy_cost(a: Arguments) -> KernelCost:
    elements = whole(a, "rows") * whole(a, "width")
    return KernelCost(elements * 2 * BF16_BYTES, elements)


def _launch_transpose(a: Arguments) -> Launch:
    return Launch((quotient_up(whole(a, "width"), TILE), quotient_up(whole(a, "rows"), TILE), 1), (256, 1, 1))


def _launch_zero(a: Arguments) -> Launch:
    return Launch((quotient_up(whole(a, "bytes"), 256 * VECTOR_BYTES), 1, 1), (256, 1, 1))


_PAIR = (array("x"), array("y"), array("z"), COUNT)
_USE = int32("purpose", "layer")

SPECS = (
    KernelSpec(
        "swiglu_forward",
        "swiglu.cu",
        (array("gate_up"), array("y"), *int32("rows", "width")),
        _launch_swiglu,
        lambda a: _swiglu_cost(a, 3, 6),
        _ROWS,
    ),
    KernelSpec(
        "swiglu_backward",
        "swiglu.cu",
        (array("dy"), array("gate_up"), array("dgate_up"), optional_array("y"), *int32("rows", "width")),
        _launch_swiglu,
        _swiglu_backward_cost,
        _ROWS,
    ),
    KernelSpec(
        "dropout",
        "dropout.cu",
        (array("x"), STEP_STATE, array("y"), COUNT, Parameter("threshold", "uint32"), *float32("factor"), *_USE),
        launch_pieces,
        bytes_each(2 * BF16_BYTES, 12),
        _NUMBERED,
    ),
    KernelSpec("add", "elementwise.cu", _PAIR, launch_pieces, bytes_each(3 * BF16_BYTES), _COUNTED),
    KernelSpec("multiply", "elementwise.cu", _PAIR, launch_pieces, bytes_each(3 * BF16_BYTES), _COUNTED),
    KernelSpec("scale_add", "elementwise.cu", (*_PAIR, *float32("factor")), launch_pieces, bytes_each(6, 2), _COUNTED),
    KernelSpec(
        "scale_copy",
        "elementwise.cu",
        (array("x"), array("out"), *int32("rows", "width", "x_stride", "out_stride"), *float32("factor")),
        _launch_scale_copy,
        _copy_cost,
        (*_ROWS, packs_of("x_stride"), packs_of("out_stride")),
    ),
    KernelSpec(
        "cast_to_bf16",
        "layout.cu",
        (array("x"), array("y"), COUNT),
        launch_pieces,
        bytes_each(BF16_BYTES + F32_BYTES, 0),
        _COUNTED,
    ),
    KernelSpec(
        "cast_to_bf16_stochastic",
        "layout.cu",
        (array("x"), STEP_STATE, array("y"), COUNT, *_USE),
        launch_pieces,
        bytes_each(BF16_BYTES + F32_BYTES, 12),
        _NUMBERED,
    ),
    KernelSpec(
        "cast_to_f32",
        "layout.cu",
        (array("x"), array("y"), COUNT),
        launch_pieces,
        bytes_each(BF16_BYTES + F32_BYTES, 0),
        _COUNTED,
    ),
    KernelSpec(
        "transpose",
        "layout.cu",
        (array("x"), array("y"), *int32("rows", "width")),
        _launch_transpose,
        _copy_cost,
        (packs_of("rows"), packs_of("width")),
    ),
    KernelSpec(
        "zero",
        "layout.cu",
        (array("y"), Parameter("bytes", "int64")),
        _launch_zero,
        lambda a: KernelCost(whole(a, "bytes")),
        (Demand("takes bytes in multiples of 4", lambda a: a["bytes"] > 0 and a["bytes"] % 4 == 0),),
    ),
)
