"""qk_norm_rope.cu: q/k RMSNorm and rotary positions on packed QKV."""

from __future__ import annotations

from engine.kernels.spec import (
    BF16_BYTES,
    F32_BYTES,
    Arguments,
    Demand,
    KernelCost,
    KernelSpec,
    Launch,
    Parameter,
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

THREADS = 128
FORWARD_HEADS, BACKWARD_HEADS, WEIGHT_HEADS = 2, 1, 2  # heads a thread works on, as in the CUDA file
WEIGHT_BLOCKS = 528  # blocks of the weight gradient at most: as many as large GPUs hold at once

_SIZES = int32("tokens", "q_heads", "k_heads", "head_dim")
_DEMANDS = (
    Demand(
        "takes head_dim in multiples of 16, at most 512",
        lambda a: a["head_dim"] % 16 == 0 and 0 < a["head_dim"] <= 512,
    ),
    Demand("takes q_weight and k_weight both or neither", lambda a: bool(a["q_weight"]) == bool(a["k_weight"])),
    positive("tokens", "q_heads", "k_heads"),
    packs_of("stride"),
)


def _blocks(a: Arguments, heads: int) -> int:
    lanes = 1
    while lanes * 16 < whole(a, "head_dim"):
        lanes *= 2
    groups = quotient_up(whole(a, "q_heads") + whole(a, "k_heads"), heads)
    return quotient_up(whole(a, "tokens") * groups * lanes, THREADS)


def weight_blocks(tokens: int, q_heads: int, k_heads: int, head_dim: int) -> int:
    """How many rows of partial sums, each [2, head_dim], the weight gradient writes."""
    sizes = {"tokens": tokens, "q_heads": q_heads, "k_heads": k_heads, "head_dim": head_dim}
    return min(_blocks(sizes, WEIGHT_HEADS), WEIGHT_BLOCKS)


def _launch_forward(a: Arguments) -> Launch:
    return Launch((_blocks(a, FORWARD_HEADS), 1, 1), (THREADS, 1, 1))


def _launch_backward(a: Arguments) -> Launch:
    return Launch((_blocks(a, BACKWARD_HEADS), 1, 1), (THREADS, 1, 1))


def _launch_weight(a: Arguments) -> Launch:
    return Launch((min(_blocks(a, WEIGHT_HEADS), WEIGHT_BLOCKS), 1, 1), (THREADS, 1, 1))


def _cost(a: Arguments, arrays: int, flops: int) -> KernelCost:
    elements = whole(a, "tokens") * (whole(a, "q_heads") + whole(a, "k_heads")) * whole(a, "head_dim")
    table = whole(a, "tokens") * whole(a, "head_dim") * F32_BYTES
    return KernelCost(elements * arrays * BF16_BYTES + table, elements * flops)


def _forward_cost(a: Arguments) -> KernelCost:
    return _cost(a, 2, 8 if a["q_weight"] else 4)


def _backward_cost(a: Arguments) -> KernelCost:
    return _cost(a, 3, 16) if a["q_weight"] else _cost(a, 2, 4)


def _launch_table(a: Arguments) -> Launch:
    return Launch((quotient_up(whole(a, "tokens") * whole(a, "half"), THREADS), 1, 1), (THREADS, 1, 1))


def _table_cost(a: Arguments) -> KernelCost:
    tokens, half = whole(a, "tokens"), whole(a, "half")
    return KernelCost(tokens * F32_BYTES + half * F32_BYTES + tokens * half * 2 * F32_BYTES, tokens * half * 40)


_WEIGHTS = (optional_array("q_weight"), optional_array("k_weight"))
_UPSTREAM: tuple[Parameter, ...] = (array("dy"), optional_array("qkv"), *_WEIGHTS, array("table"), array("dx"))
_BACKWARD_DEMANDS = (
    *_DEMANDS,
    Demand("needs qkv where there are weights", lambda a: bool(a["qkv"]) or not a["q_weight"]),
    packs_of("dy_stride"),
    packs_of("dx_stride"),
)

SPECS = (
    KernelSpec(
        "rope_table",
        "qk_norm_rope.cu",
        (numbers("positions"), numbers("frequencies"), array("table"), *int32("tokens", "half"), *float32("scaling")),
        _launch_table,
        _table_cost,
        (positive("tokens", "half"),),
    ),
    KernelSpec(
        "qk_norm_rope_forward",
        "qk_norm_rope.cu",
        (
            array("qkv"),
            *_WEIGHTS,
            array("table"),
            array("y"),
            *_SIZES,
            *int32("stride", "y_stride"),
            *float32("eps"),
        ),
        _launch_forward,
        _forward_cost,
        (*_DEMANDS, packs_of("y_stride")),
    ),
    KernelSpec(
        "qk_norm_rope_backward",
        "qk_norm_rope.cu",
        (*_UPSTREAM, *_SIZES, *int32("dy_stride", "stride", "dx_stride"), *float32("eps")),
        _launch_backward,
        _backward_cost,
        _BACKWARD_DEMANDS,
    ),
    KernelSpec(
        "qk_norm_rope_weight_backward",
        "qk_norm_rope.cu",
        (*_UPSTREAM, array("partials"), *_SIZES, *int32("dy_stride", "stride", "dx_stride"), *float32("eps")),
        _launch_weight,
        _backward_cost,
        (*_BACKWARD_DEMANDS, Demand("needs weights", lambda a: bool(a["q_weight"]))),
    ),
)
