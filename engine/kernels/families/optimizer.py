"""step.cu, adamw.cu, adamw_8bit.cu: accumulation, the decision to apply a step, and the update."""

from __future__ import annotations

from engine.kernels.spec import (
    BF16_BYTES,
    COUNT,
    F32_BYTES,
    STEP_STATE,
    Arguments,
    Demand,
    KernelCost,
    KernelSpec,
    Launch,
    array,
    bytes_each,
    float32,
    int32,
    launch_pieces,
    numbers,
    optional_array,
    positive,
    whole,
)

CHUNK = 1 << 16  # elements of a chunk of squared_sums at most
STATE_BLOCK = 32  # elements that share a scale of 8-bit state
STATE_BYTES = 2 * (1 + BF16_BYTES / STATE_BLOCK)  # a parameter, both moments

_COUNTED = (positive("count"),)
_NUMBERED = (Demand("numbers at most 2³⁴ − 8 elements", lambda a: 0 < a["count"] <= (1 << 34) - 8),)
_GUARD = (numbers("decision"), numbers("limits"), numbers("optimizer_step", 8))
_CONSTANTS = float32("beta2", "log_beta1", "log_beta2", "epsilon", "weight_decay")
_MOMENTS = (array("first_moment"), array("second_moment"))
_CODES = (array("m_codes"), array("v_codes"), array("m_scales"), array("v_scales"))
_USE = int32("purpose", "layer")


def _one_thread(a: Arguments) -> Launch:
    return Launch((1, 1, 1), (1, 1, 1))


def _update_cost(a: Arguments, parameter_bytes: int, state_bytes: float) -> KernelCost:
    """Parameter and state read and written, gradient read; working weights written where there are any."""
    working = BF16_BYTES if a.get("working") else 0
    each = 2 * parameter_bytes + 2 * state_bytes + F32_BYTES + working
    return KernelCost(int(whole(a, "count") * each), whole(a, "count") * 16)


SPECS = (
    KernelSpec(
        "accumulate_f32",
        "step.cu",
        (array("accumulator"), array("gradient"), STEP_STATE, COUNT),
        launch_pieces,
        bytes_each(3 * F32_BYTES),
        _COUNTED,
    ),
    KernelSpec(
        "accumulate_bf16",
        "step.cu",
        (array("accumulator"), array("gradient"), STEP_STATE, COUNT),
        launch_pieces,
        bytes_each(2 * F32_BYTES + BF16_BYTES),
        _COUNTED,
    ),
    KernelSpec(
        "store_slot",
        "step.cu",
        (numbers("slots"), numbers("value"), STEP_STATE),
        _one_thread,
        lambda a: KernelCost(2 * F32_BYTES),
    ),
    KernelSpec(
        "squared_sums",
        "step.cu",
        (numbers("chunk_addresses", 8), numbers("chunk_counts"), numbers("partials"), *int32("chunks")),
        lambda a: Launch((whole(a, "chunks"), 1, 1), (512, 1, 1)),
        lambda a: KernelCost(whole(a, "chunks") * CHUNK * F32_BYTES, whole(a, "chunks") * CHUNK * 2),
        (positive("chunks"),),
    ),
    KernelSpec(
        "slot_sums",
        "step.cu",
        (numbers("partials"), numbers("slot_starts"), numbers("squares"), *int32("slots")),
        lambda a: Launch((whole(a, "slots"), 1, 1), (128, 1, 1)),
        lambda a: KernelCost(whole(a, "slots") * 2 * F32_BYTES),
        (positive("slots"),),
    ),
    KernelSpec(
        "decide_step",
        "step.cu",
        (
            *(numbers(name) for name in ("squares", "loss_slots", "weight_slots", "limits")),
            numbers("optimizer_step", 8),
            numbers("metrics"),
            numbers("decision"),
            *int32("square_count", "slot_count"),
        ),
        _one_thread,
        lambda a: KernelCost((whole(a, "square_count") + 2 * whole(a, "slot_count")) * F32_BYTES),
        (positive("square_count", "slot_count"),),
    ),
    KernelSpec(
        "adamw_f32",
        "adamw.cu",
        (array("parameter"), *_MOMENTS, array("gradient"), optional_array("working"), *_GUARD, COUNT, *_CONSTANTS),
        launch_pieces,
        lambda a: _update_cost(a, F32_BYTES, 2 * F32_BYTES),
        _COUNTED,
    ),
    KernelSpec(
        "adamw_bf16",
        "adamw.cu",
        (array("parameter"), *_MOMENTS, array("gradient"), *_GUARD, STEP_STATE, COUNT, *_CONSTANTS, *_USE),
        launch_pieces,
        lambda a: _update_cost(a, BF16_BYTES, 2 * F32_BYTES),
        _NUMBERED,
    ),
    KernelSpec(
        "adamw_8bit_f32",
        "adamw_8bit.cu",
        (array("parameter"), *_CODES, array("gradient"), optional_array("working"), *_GUARD, COUNT, *_CONSTANTS),
        launch_pieces,
        lambda a: _update_cost(a, F32_BYTES, STATE_BYTES),
        _COUNTED,
    ),
    KernelSpec(
        "adamw_8bit_bf16",
        "adamw_8bit.cu",
        (array("parameter"), *_CODES, array("gradient"), *_GUARD, STEP_STATE, COUNT, *_CONSTANTS, *_USE),
        launch_pieces,
        lambda a: _update_cost(a, BF16_BYTES, STATE_BYTES),
        _NUMBERED,
    ),
)
