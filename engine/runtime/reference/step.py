"""What happens at step boundaries: accumulation, the decision to apply a step, AdamW. `engine.graph.ops.step` has the
formulas; here they are on views. Everything is in place, and in pieces that stay in a core's cache.
"""

from __future__ import annotations

from math import isfinite

import torch

from engine.graph.ops.step import Decision, Limit, Metric
from engine.runtime.reference.operands import Call, Operands

MICRO_BATCH = 2  # index into step_state = (seed, step, micro_batch, 0)
PIECE = 1 << 18
NORM_FLOOR = 1e-6  # as torch's clip_grad_norm_: keeps the quotient finite where the norm is zero


def accumulate(o: Operands) -> Call:
    """The first micro-batch overwrites, so whatever an earlier step left behind has no influence."""
    accumulator, gradient, step_state = o.inputs

    def call() -> None:
        if int(step_state[MICRO_BATCH]) == 0:
            accumulator.copy_(gradient)
        else:
            accumulator.add_(gradient)

    return call


def store_slot(o: Operands) -> Call:
    slots, value, step_state = o.inputs

    def call() -> None:
        slots[int(step_state[MICRO_BATCH])] = value[0]

    return call


def squared_sum(o: Operands) -> Call:
    (squares, gradient), index = o.inputs, o.integer("index")
    slot, flat = squares[index], gradient.view(-1)
    return lambda: slot.copy_(torch.linalg.vector_norm(flat, dtype=torch.float64).square())


def decide_step(o: Operands) -> Call:
    squares, loss_slots, weight_slots, limits, optimizer_step, metrics = o.inputs
    decision = o.outputs[0]

    def call() -> None:
        limit = limits.tolist()
        total = float(weight_slots.sum(dtype=torch.float64))
        share = 1.0 / total if total > 0.0 else 0.0
        loss = float(loss_slots.sum(dtype=torch.float64)) * share
        grad_norm = float(squares.sum(dtype=torch.float64)) ** 0.5 * share
        clip = min(1.0, limit[Limit.MAXIMUM_GRAD_NORM] / (grad_norm + NORM_FLOOR))
        within = loss <= limit[Limit.LOSS_BOUND] and grad_norm <= limit[Limit.GRAD_NORM_BOUND]
        applied = total > 0.0 and isfinite(loss) and isfinite(grad_norm) and within
        optimizer_step.add_(int(applied))
        decision[Decision.GRADIENT_SCALE] = clip * share if applied else 0.0
        decision[Decision.APPLIED] = float(applied)
        metrics[Metric.LOSS] = loss
        metrics[Metric.GRAD_NORM] = grad_norm
        metrics[Metric.CLIP] = clip
        metrics[Metric.APPLIED] = float(applied)
        metrics[Metric.TOTAL_WEIGHT] = total
        metrics[Metric.OPTIMIZER_STEP] = float(optimizer_step)

    return call


def adamw(o: Operands) -> Call:
    """Loshchilov & Hutter 2019, in the order of operations of torch.optim.AdamW."""
    *tensors, decision, limits, optimizer_step = o.inputs
    flat = [tensor.view(-1) for tensor in tensors]
    beta1, beta2 = o.number("beta1"), o.number("beta2")
    epsilon, weight_decay = o.number("epsilon"), o.number("weight_decay")

    def call() -> None:
        gradient_scale, applied = decision.tolist()
        if not applied:
            return
        learning_rate, step = float(limits[Limit.LEARNING_RATE]), int(optimizer_step)
        step_size = learning_rate / (1.0 - beta1**step)
        root_correction = (1.0 - beta2**step) ** 0.5
        for start in range(0, flat[0].numel(), PIECE):
            p, m, v, gradient = (tensor[start : start + PIECE] for tensor in flat)
            g = gradient * gradient_scale
            p.mul_(1.0 - learning_rate * weight_decay)
            m.lerp_(g, 1.0 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1.0 - beta2)
            p.addcdiv_(m, v.sqrt().div_(root_correction).add_(epsilon), value=-step_size)

    return call
