"""The step boundary: tied gradients summed, the norm, the decision, AdamW on every trained parameter, in place."""

from __future__ import annotations

from engine.graph.ops.step import DECISION
from engine.graph.options import ScheduleOptions
from engine.graph.persistent import LOSS_SLOTS, METRIC_STATE, SQUARES, STEP_COUNT, STEP_LIMITS, WEIGHT_SLOTS
from engine.graph.schedule import ParameterSlots, Program
from engine.graph.unroll import ProgramWriter


def write_optimizer(slots: tuple[ParameterSlots, ...], options: ScheduleOptions, writer: ProgramWriter) -> Program:
    """Needs loss and weight slots and accumulators of all micro-batches, and `input/limits` of this step."""
    trained = [each for each in slots if each.is_trainable]
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
    for each in trained:
        _update(each, decision, options, writer)
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
