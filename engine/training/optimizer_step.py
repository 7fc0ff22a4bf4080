"""One optimizer step: its micro-batches in ascending order, then the guarded update.

The host uploads this step's limits; the device decides whether the step is applied, and says so in its metrics.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from engine.graph.ops.step import Limit, Metric
from engine.graph.persistent import LOSS_SLOTS, METRIC_STATE, STEP, STEP_LIMITS, WEIGHT_SLOTS
from engine.training.executor import Executor
from engine.training.micro_batches import MicroBatches
from engine.training.schedules import LearningRateSchedule


@dataclass(frozen=True)
class StepResult:
    """What one step did. `loss` and `grad_norm` may be NaN or infinite; `seconds` is wall time."""

    loss: float
    grad_norm: float
    clipped: bool
    applied: bool
    learning_rate: float
    tokens: int
    trained_tokens: int
    micro_batches: int
    seconds: float

    @property
    def loss_or_none(self) -> float | None:
        return self.loss if math.isfinite(self.loss) else None

    @property
    def grad_norm_or_none(self) -> float | None:
        return self.grad_norm if math.isfinite(self.grad_norm) else None


@dataclass
class OptimizerSteps:
    """Makes steps. `accumulation` micro-batches each; the last step of a run takes what is left."""

    executor: Executor
    batches: MicroBatches
    rates: LearningRateSchedule
    seed: int
    accumulation: int
    maximum_grad_norm: float

    def run(self, step: int, first_micro_batch: int) -> StepResult:
        """Make step `step` (from 1) from micro-batch number `first_micro_batch` (from 0, over all epochs) on."""
        began = time.monotonic()
        count = min(self.accumulation, self.batches.total - first_micro_batch)
        rate = self.rates.at(step)
        # A step with fewer micro-batches must not sum the slots of the step before.
        for slots in (LOSS_SLOTS, WEIGHT_SLOTS):
            self.executor.write(slots, np.zeros(self.accumulation, np.float32))
        tokens, trained = 0, 0.0
        for micro_batch in range(count):
            batch = self.batches.upload(self.executor, first_micro_batch + micro_batch)
            tokens, trained = tokens + batch.tokens, trained + batch.weight
            self.executor.write(STEP, np.array([self.seed, step, micro_batch, 0], np.int64))
            self.executor.run("train_micro")
        self.executor.write(STEP_LIMITS, self._limits(rate))
        self.executor.run("optimizer")
        metrics = self.executor.read(METRIC_STATE)
        return StepResult(
            loss=float(metrics[Metric.LOSS]),
            grad_norm=float(metrics[Metric.GRAD_NORM]),
            clipped=bool(metrics[Metric.CLIP] < 1.0),
            applied=bool(metrics[Metric.APPLIED]),
            learning_rate=rate,
            tokens=tokens,
            trained_tokens=round(trained),
            micro_batches=count,
            seconds=time.monotonic() - began,
        )

    def _limits(self, rate: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        limits = np.full(len(Limit), np.inf, np.float32)
        limits[Limit.LEARNING_RATE] = rate
        limits[Limit.MAXIMUM_GRAD_NORM] = self.maximum_grad_norm
        return limits
