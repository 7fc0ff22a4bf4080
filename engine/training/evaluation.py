"""Evaluation: the mean loss over the held-out tokens, in the training shape, without dropout, changing nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.graph.persistent import CORRECT, LOSS_SUM, WEIGHT_SUM
from engine.training.executor import Executor, as_float
from engine.training.micro_batches import MicroBatches

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class EvaluationResult:
    """`loss` per token in nats, `accuracy` the share of tokens guessed first; NaN loss where a value was not finite."""

    loss: float
    accuracy: float
    tokens: int
    seconds: float

    @property
    def loss_or_none(self) -> float | None:
        return self.loss if math.isfinite(self.loss) else None


def evaluate(executor: Executor, batches: MicroBatches, progress: Progress) -> EvaluationResult:
    """Run over all of `batches` once, summing in float64 in ascending order. At least one token must count."""
    began = time.monotonic()
    loss = weight = correct = 0.0
    for index in range(batches.total):
        batches.upload(executor, index)
        executor.run("evaluate")
        loss += as_float(executor.read(LOSS_SUM))
        weight += as_float(executor.read(WEIGHT_SUM))
        correct += as_float(executor.read(CORRECT))
        progress(index + 1, batches.total, "micro_batches")
    return EvaluationResult(loss / weight, correct / weight, round(weight), time.monotonic() - began)
