"""What happens at step boundaries: accumulation, the decision to apply a step, the optimizer. All in place.

accumulate:   accumulator = gradient where step_state's micro_batch is 0, else accumulator + gradient. Overwriting at
              micro-batch 0 makes stale contents (NaN too) harmless without a zeroing pass.
store_slot:   slots[micro_batch] = value: loss partials, summed in order by decide_step
squared_sum:  squares[index] = Σ gradient², one slot a parameter, so that the norm is an ordered sum
decide_step:  see `Decision`, `Metric`, `Limit` below
    total   = Σ weight_slots, loss = Σ loss_slots / total, grad_norm = sqrt(Σ squares) / total   (0 where total = 0)
    clip    = min(1, maximum_grad_norm / (grad_norm + 1e-6))
    applied = total > 0 and loss, grad_norm finite and loss ≤ loss_bound and grad_norm ≤ grad_norm_bound
    optimizer_step += applied
adamw:        with g = gradient · GRADIENT_SCALE, t = optimizer_step; nothing at all is written where applied = 0
    p *= 1 − lr · weight_decay;  m = β₁ m + (1 − β₁) g;  v = β₂ v + (1 − β₂) g²
    p −= lr / (1 − β₁ᵗ) · m / (sqrt(v) / sqrt(1 − β₂ᵗ) + epsilon)
"""

from __future__ import annotations

from enum import IntEnum

from engine.graph.dims import size
from engine.graph.opspec import Call, Cost, OpSpec, Types, pointwise, traffic
from engine.graph.types import DType, TensorType


class Limit(IntEnum):
    """Indices into `input/limits` f32[4], uploaded by the host for each step. Infinity switches a bound off."""

    LEARNING_RATE = 0
    MAXIMUM_GRAD_NORM = 1
    GRAD_NORM_BOUND = 2
    LOSS_BOUND = 3


class Decision(IntEnum):
    """Indices into the decision f32[2]: gradients are multiplied by clip / total (0 where not applied)."""

    GRADIENT_SCALE = 0
    APPLIED = 1


class Metric(IntEnum):
    """Indices into `state/metrics` f32[6], written once a step."""

    LOSS = 0
    GRAD_NORM = 1
    CLIP = 2
    APPLIED = 3
    TOTAL_WEIGHT = 4
    OPTIMIZER_STEP = 5


LIMITS = TensorType((size(len(Limit)),), DType.F32)
DECISION = TensorType((size(len(Decision)),), DType.F32)
METRICS = TensorType((size(len(Metric)),), DType.F32)
STEP_STATE = TensorType((size(4),), DType.I64)
OPTIMIZER_STEP = TensorType((size(1),), DType.I64)


def _expect(call: Call, operand: str, expected: TensorType) -> None:
    call.expect_shape(operand, expected.shape, "its documented layout")
    call.expect_dtype(operand, expected.dtype)


def _infer_accumulate(call: Call) -> Types:
    call.expect_dtype("accumulator", DType.F32)
    call.expect_shape("gradient", call["accumulator"].shape, f"operand 'accumulator' {call['accumulator']}")
    _expect(call, "step_state", STEP_STATE)
    return (call["accumulator"],)


def _infer_store_slot(call: Call) -> Types:
    call.shape("slots", 1)
    call.expect_dtype("slots", DType.F32)
    _expect(call, "value", TensorType((size(1),), DType.F32))
    _expect(call, "step_state", STEP_STATE)
    return (call["slots"],)


def _cost_store_slot(call: Call, results: Types) -> Cost:
    return Cost(size(0), size(8))


def _infer_squared_sum(call: Call) -> Types:
    call.shape("squares", 1)
    call.expect_dtype("squares", DType.F32)
    call.expect_dtype("gradient", DType.F32)
    call.size("index")
    return (call["squares"],)


def _cost_squared_sum(call: Call, results: Types) -> Cost:
    return Cost(call["gradient"].elements * 2, call["gradient"].bytes)


def _infer_decide_step(call: Call) -> Types:
    for operand in ("squares", "loss_slots", "weight_slots"):
        call.shape(operand, 1)
        call.expect_dtype(operand, DType.F32)
    call.expect_like("weight_slots", "loss_slots")
    _expect(call, "limits", LIMITS)
    _expect(call, "optimizer_step", OPTIMIZER_STEP)
    _expect(call, "metrics", METRICS)
    return DECISION, OPTIMIZER_STEP, METRICS


def _cost_decide_step(call: Call, results: Types) -> Cost:
    return Cost(call["squares"].elements, traffic(call, results))


def _infer_adamw(call: Call) -> Types:
    call.expect_dtype("parameter", DType.F32)
    for operand in ("first_moment", "second_moment", "gradient"):
        call.expect_like(operand, "parameter")
    _expect(call, "decision", DECISION)
    _expect(call, "limits", LIMITS)
    _expect(call, "optimizer_step", OPTIMIZER_STEP)
    for constant in ("beta1", "beta2", "epsilon", "weight_decay"):
        call.number(constant)
    return call["parameter"], call["first_moment"], call["second_moment"]


SPECS = (
    OpSpec(
        "accumulate",
        ("accumulator", "gradient", "step_state"),
        ("accumulator",),
        _infer_accumulate,
        pointwise(1),
        updates={0: 0},
    ),
    OpSpec(
        "store_slot", ("slots", "value", "step_state"), ("slots",), _infer_store_slot, _cost_store_slot, updates={0: 0}
    ),
    OpSpec("squared_sum", ("squares", "gradient"), ("squares",), _infer_squared_sum, _cost_squared_sum, updates={0: 0}),
    OpSpec(
        "decide_step",
        ("squares", "loss_slots", "weight_slots", "limits", "optimizer_step", "metrics"),
        ("decision", "optimizer_step", "metrics"),
        _infer_decide_step,
        _cost_decide_step,
        updates={1: 4, 2: 5},
    ),
    OpSpec(
        "adamw",
        ("parameter", "first_moment", "second_moment", "gradient", "decision", "limits", "optimizer_step"),
        ("parameter", "first_moment", "second_moment"),
        _infer_adamw,
        pointwise(16),
        updates={0: 0, 1: 1, 2: 2},
    ),
)
