"""How many optimizer steps a run has, and when it evaluates and saves. Integers only; times come from `timing`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.protocol.data_messages import DataStatistics
from engine.protocol.recipe import ResolvedRecipe


@dataclass(frozen=True)
class Steps:
    """Counts of one run. `per_epoch` is exact (a fraction where an epoch ends within a step)."""

    total: int
    per_epoch: float
    warmup: int
    evaluate_every: int
    checkpoint_every: int

    @property
    def evaluations(self) -> int:
        """Before the first step, at each interval, and after the last step."""
        return 0 if self.evaluate_every == 0 else 1 + math.ceil(self.total / self.evaluate_every)

    @property
    def checkpoints(self) -> int:
        """At each interval and at the end."""
        return 1 if self.checkpoint_every == 0 else math.ceil(self.total / self.checkpoint_every)


def count_steps(recipe: ResolvedRecipe, statistics: DataStatistics) -> Steps:
    """Steps of the recipe over this data. A last, incomplete step is made with the micro-batches left."""
    per_epoch = statistics.training.micro_batches / recipe.gradient_accumulation_steps
    total = math.ceil(round(per_epoch * recipe.epochs, 9))
    if recipe.maximum_steps is not None:
        total = min(total, recipe.maximum_steps)
    evaluates = statistics.evaluation.micro_batches > 0
    return Steps(
        total=total,
        per_epoch=per_epoch,
        warmup=math.ceil(round(recipe.warmup_ratio * total, 9)),
        evaluate_every=interval(recipe.evaluate_every, total) if evaluates else 0,
        checkpoint_every=interval(recipe.checkpoint_every, total),
    )


def interval(every: float, total_steps: int) -> int:
    """A share of the run (below 1), a number of steps (1 and more) or never (0), as steps."""
    if every == 0 or total_steps == 0:
        return 0
    return max(1, round(every * total_steps)) if every < 1 else round(every)
