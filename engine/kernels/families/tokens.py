"""embedding.cu and cross_entropy.cu: where token ids meet the vocabulary."""

from __future__ import annotations

from engine.kernels.spec import (
    BF16_BYTES,
    F32_BYTES,
    PACK,
    VECTOR_BYTES,
    Arguments,
    Demand,
    KernelCost,
    KernelSpec,
    Launch,
    array,
    int32,
    numbers,
    packs_of,
    positive,
    quotient_up,
    whole,
)

THREADS, KEYS_A_WARP, ROW_THREADS, EVALUATE_THREADS = 128, 4, 1024, 512
STATIC_SHARED_BYTES = 1024  # of cross_entropy, rounded up: what dynamic shared memory must leave free

_ROWS = (packs_of("width"), positive("tokens", "vocabulary"))
_LOGITS = (
    packs_of("stride"),
    positive("rows", "vocabulary"),
    Demand("takes a stride of at least the vocabulary", lambda a: a["stride"] >= a["vocabulary"]),
)


def cached_packs(shared_bytes_a_block: int, stride: int) -> int:
    """How many packs of a row of logits fit into a block's shared memory on a device (numbers do not depend on it)."""
    return min(max(0, shared_bytes_a_block - STATIC_SHARED_BYTES) // VECTOR_BYTES, stride // PACK)


def _launch_rows(a: Arguments) -> Launch:
    columns = quotient_up(whole(a, "width"), THREADS * PACK)
    return Launch((whole(a, "tokens"), columns, 1), (THREADS, 1, 1))


def _launch_order(a: Arguments) -> Launch:
    return Launch((quotient_up(whole(a, "tokens"), KEYS_A_WARP * THREADS // 32), 1, 1), (THREADS, 1, 1))


def _launch_cross_entropy(a: Arguments) -> Launch:
    return Launch((whole(a, "rows"), 1, 1), (ROW_THREADS, 1, 1), whole(a, "cached") * VECTOR_BYTES)


def _launch_evaluate(a: Arguments) -> Launch:
    return Launch((whole(a, "rows"), 1, 1), (EVALUATE_THREADS, 1, 1))


def _forward_cost(a: Arguments) -> KernelCost:
    tokens, width = whole(a, "tokens"), whole(a, "width")
    return KernelCost(tokens * (F32_BYTES + 2 * width * BF16_BYTES))


def _order_cost(a: Arguments) -> KernelCost:
    tokens = whole(a, "tokens")
    return KernelCost(2 * tokens * F32_BYTES, 3 * tokens * tokens)


def _backward_cost(a: Arguments) -> KernelCost:
    """As though every token had an id of its own, which is the most."""
    tokens, width = whole(a, "tokens"), whole(a, "width")
    return KernelCost(tokens * (2 * F32_BYTES + width * (BF16_BYTES + 2 * F32_BYTES)), tokens * width)


def _logits_cost(a: Arguments, passes: int, columns: str) -> KernelCost:
    rows = whole(a, "rows")
    return KernelCost(rows * (whole(a, columns) * passes * BF16_BYTES + 3 * F32_BYTES), rows * whole(a, columns) * 6)


SPECS = (
    KernelSpec(
        "embedding_forward",
        "embedding.cu",
        (numbers("ids"), array("weight"), array("x"), *int32("tokens", "width", "vocabulary")),
        _launch_rows,
        _forward_cost,
        _ROWS,
    ),
    KernelSpec(
        "embedding_order",
        "embedding.cu",
        (numbers("ids"), numbers("order"), *int32("tokens")),
        _launch_order,
        _order_cost,
        (positive("tokens"),),
    ),
    KernelSpec(
        "embedding_backward",
        "embedding.cu",
        (numbers("ids"), numbers("order"), array("dy"), array("dweight"), *int32("tokens", "width", "vocabulary")),
        _launch_rows,
        _backward_cost,
        _ROWS,
    ),
    KernelSpec(
        "cross_entropy",
        "cross_entropy.cu",
        (
            array("logits"),
            numbers("targets"),
            numbers("weights"),
            numbers("losses"),
            *int32("rows", "vocabulary", "stride", "cached"),
        ),
        _launch_cross_entropy,
        lambda a: _logits_cost(a, 2, "stride"),
        (*_LOGITS, Demand("caches no more than a row", lambda a: 0 <= a["cached"] <= a["stride"] // PACK)),
    ),
    KernelSpec(
        "cross_entropy_evaluate",
        "cross_entropy.cu",
        (
            array("logits"),
            numbers("targets"),
            numbers("weights"),
            numbers("losses"),
            numbers("correct"),
            *int32("rows", "vocabulary", "stride"),
        ),
        _launch_evaluate,
        lambda a: _logits_cost(a, 1, "vocabulary"),
        _LOGITS,
    ),
    KernelSpec(
        "ordered_sum",
        "cross_entropy.cu",
        (numbers("values"), numbers("out"), *int32("count")),
        lambda a: Launch((1, 1, 1), (ROW_THREADS, 1, 1)),
        lambda a: KernelCost(whole(a, "count") * F32_BYTES, whole(a, "count")),
        (positive("count"),),
    ),
)
