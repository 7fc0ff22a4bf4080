"""The host's side of a step: which micro-batches it takes, and that the last step sums no more than its own."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from engine.data.batches import Batches, MicroBatch
from engine.graph.ops.step import Limit, Metric
from engine.graph.persistent import LOSS_SLOTS, LOSS_WEIGHTS, METRIC_STATE, STEP, STEP_LIMITS, WEIGHT_SLOTS
from engine.training.executor import AnyArray
from engine.training.micro_batches import MicroBatches, training_micro_batches
from engine.training.optimizer_step import OptimizerSteps
from engine.training.schedules import LearningRateSchedule

ACCUMULATION = 4


class Data:
    """Micro-batch k has k + 1 learned tokens, each with the loss k."""

    def __len__(self) -> int:
        return 6

    def number(self, position: int) -> MicroBatch:
        ids = np.zeros(8, np.int32)
        weights = np.zeros(8, np.float32)
        weights[: position % 6 + 1] = 1.0
        return MicroBatch(ids, ids, weights, ids, ids, tokens=8, weight=float(weights.sum()))


class Device:
    """Computes the loss of a step as the optimizer program does: the sums of all slots, divided once."""

    def __init__(self) -> None:
        self.tensors: dict[str, AnyArray] = {
            LOSS_SLOTS: np.full(ACCUMULATION, np.nan, np.float32), WEIGHT_SLOTS: np.full(ACCUMULATION, 9.0, np.float32)
        }  # fmt: skip
        self.states: list[list[int]] = []

    def write(self, name: str, array: AnyArray) -> None:
        self.tensors[name] = array.copy()

    def read(self, name: str) -> AnyArray:
        return self.tensors[name]

    def close(self) -> None:
        """Nothing to free."""

    def run(self, program: str) -> None:
        if program == "train_micro":
            state = self.tensors[STEP].tolist()
            self.states.append(state)
            weight = self.tensors[LOSS_WEIGHTS].sum()
            self.tensors[LOSS_SLOTS][state[2]] = weight * (weight - 1)
            self.tensors[WEIGHT_SLOTS][state[2]] = weight
            return
        metrics = np.ones(len(Metric), np.float32)
        metrics[Metric.LOSS] = self.tensors[LOSS_SLOTS].sum() / self.tensors[WEIGHT_SLOTS].sum()
        self.tensors[METRIC_STATE] = metrics


@pytest.fixture
def steps() -> OptimizerSteps:
    batches = training_micro_batches(cast("Batches", Data()), epochs=1.0, total_steps=2, accumulation=ACCUMULATION)
    rates = LearningRateSchedule("constant", 1e-3, 2, 0, 0.1, 0.2)
    return OptimizerSteps(Device(), batches, rates, seed=5, accumulation=ACCUMULATION, maximum_grad_norm=0.5)


def test_a_last_step_of_two_micro_batches_is_the_mean_over_their_tokens(steps: OptimizerSteps) -> None:
    first, last = steps.run(1, 0), steps.run(2, 4)
    assert (first.micro_batches, first.trained_tokens, first.tokens) == (4, 1 + 2 + 3 + 4, 32)
    assert first.loss == pytest.approx((0 * 1 + 1 * 2 + 2 * 3 + 3 * 4) / 10)
    assert (last.micro_batches, last.trained_tokens, last.tokens) == (2, 5 + 6, 16)
    assert last.loss == pytest.approx((4 * 5 + 5 * 6) / 11)


def test_the_device_is_told_seed_step_micro_batch_and_limits(steps: OptimizerSteps) -> None:
    steps.run(2, 4)
    device = cast("Device", steps.executor)
    assert device.states == [[5, 2, 0, 0], [5, 2, 1, 0]]
    limits = device.tensors[STEP_LIMITS]
    assert limits[Limit.LEARNING_RATE] == np.float32(1e-3)
    assert limits[Limit.MAXIMUM_GRAD_NORM] == 0.5
    assert np.isinf(limits[[Limit.GRAD_NORM_BOUND, Limit.LOSS_BOUND]]).all()


@pytest.mark.parametrize(
    ("epochs", "steps", "expected"), [(0.5, 1, 3), (1.0, 2, 6), (1.5, 3, 9), (2.0, 3, 12), (9.0, 2, 8), (0.4, 1, 3)]
)
def test_a_run_takes_its_share_of_the_data_and_no_more(epochs: float, steps: int, expected: int) -> None:
    batches = training_micro_batches(
        cast("Batches", Data()), epochs=epochs, total_steps=steps, accumulation=ACCUMULATION
    )
    assert isinstance(batches, MicroBatches)
    assert batches.total == expected
