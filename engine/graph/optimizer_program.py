"""The step boundary: tied gradients summed, the norm, the decision, AdamW on every trained parameter, in place."""

from __future__ import annotations

from engine.graph.ops.step import DECISION
from engine.graph.options import ScheduleOptions
from engine.graph.persistent import (
    LOSS_SLOTS,
    METRIC_STATE,
    SQUARES,
    STEP_COUNT,
    STEP_LIMITS,
    WEIGHT_SLOTS,
    StoredParameter,
)
from engine.graph.schedule import ParameterSlots, Program
from engine.graph.unroll import ProgramWriter


def write_optimizer(
    parameters: tuple[ParameterSlots, ...],
    stored: tuple[StoredParameter, ...],
    options: ScheduleOptions,
    writer: ProgramWriter,
) -> Program:
    """Needs loss and weight slots and accumulators of all micro-batches, and `input/limits` of this step.

    The norm is summed over `parameters` one by one, so that its order is that of their names whatever is grouped; what
    works element by element is done on groups at once.
    """
    trained = [each for each in parameters if each.is_trainable]
    for index, each in enumerate(trained):
        total, *others = each.gradients
        for other in others:
            writer.call("add", (total, other), (total,))
        writer.call("squared_sum", (SQUARES, total), (SQUARES,), {"index": index})
    decision = writer.transient("decision", DECISION.evaluate({}), DECISION.dtype)
    writer.call(
        "decide_step",
        (SQUARES, LOSS_SLOTS, WEIGHT_SLOTS, STEP_LIMITS, STEP_COUNT, METRIC_STATE),
        (decision, STEP_COUNT, METRIC_STATE),
    )
    for group in stored:
        if group.whole.is_trainable:
            _update(group.whole, decision, options, writer)
    return writer.finish()


def _update(slots: ParameterSlots, decision: str, options: ScheduleOptions, writer: ProgramWriter) -> None:
    master, first, second = slots.master, slots.first_moment, slots.second_moment
    assert master is not None and first is not None and second is not None  # trained parameters have all three
    constants = options.optimizer
    attributes = {
        "beta1": constants.beta1,
        "beta2": constants.beta2,
        "epsilon": constants.epsilon,
        "weight_decay": constants.weight_decay if slots.decay else 0.0,
    }
    operands = (master, first, second, slots.gradients[0], decision, STEP_LIMITS, STEP_COUNT)
    writer.call("adamw", operands, (master, first, second), attributes)
    if master != slots.weight:
        dtype = writer.tensors[slots.weight].dtype
        writer.call("cast", (master,), (slots.weight,), {"dtype": dtype})
