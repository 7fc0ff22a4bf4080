"""Learning rate as a pure function of the step: nothing to save, so nothing to restore wrongly.

    rate │    ______________            step 1 … warmup_steps   rises linearly to the peak, never zero
         │   /              \\__         then                    constant, linear, cosine or WSD
         │  /                           last step               peak × minimum_ratio (constant: peak)
         └──────────────────────

WSD (warm-up, stable, decay; Hu et al. 2024, "MiniCPM") holds the peak, then falls linearly
over the last `decay_ratio` of the steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, assert_never

import msgspec

from engine.protocol.recipe import ResolvedRecipe

ScheduleKind = Literal["constant", "linear", "cosine", "wsd"]


@dataclass(frozen=True, slots=True)
class LearningRateSchedule:
    """The rate of each optimizer step of a run of `total_steps` steps.

    Steps are counted from 1. `peak` is the recipe's learning rate, `minimum_ratio` the share of it at the last step,
    `decay_ratio` the share of all steps over which WSD falls.
    """

    kind: ScheduleKind
    peak: float
    total_steps: int
    warmup_steps: int
    minimum_ratio: float
    decay_ratio: float

    def at(self, step: int) -> float:
        """The learning rate of optimizer step `step` (1 … total_steps). Raises ValueError outside the run."""
        if not 1 <= step <= self.total_steps:
            raise ValueError(f"step {step} is outside the run of {self.total_steps} steps")
        if step <= self.warmup_steps:
            return self.peak * step / self.warmup_steps
        return self.peak * self._share_after_warmup(step)

    def _share_after_warmup(self, step: int) -> float:
        remaining_steps = self.total_steps - self.warmup_steps
        progress = (step - self.warmup_steps) / remaining_steps  # in (0, 1]; 1 at the last step
        match self.kind:
            case "constant":
                return 1.0
            case "linear":
                return 1.0 - (1.0 - self.minimum_ratio) * progress
            case "cosine":
                return self.minimum_ratio + (1.0 - self.minimum_ratio) * 0.5 * (1.0 + math.cos(math.pi * progress))
            case "wsd":
                decay_steps = min(remaining_steps, round(self.decay_ratio * self.total_steps))
                return 1.0 - (1.0 - self.minimum_ratio) * self._share_of_decay(step, decay_steps)
            case _:
                assert_never(self.kind)

    def _share_of_decay(self, step: int, decay_steps: int) -> float:
        """How far into the final fall `step` is: 0 before it, 1 at the last step. No steps of decay: never."""
        if decay_steps == 0:
            return 0.0
        return max(0.0, (step - (self.total_steps - decay_steps)) / decay_steps)


def learning_rates(recipe: ResolvedRecipe, *, total_steps: int, warmup_steps: int) -> LearningRateSchedule:
    """The schedule that a recipe asks for."""
    return LearningRateSchedule(
        kind=msgspec.convert(recipe.schedule, ScheduleKind),
        peak=recipe.learning_rate,
        total_steps=total_steps,
        warmup_steps=warmup_steps,
        minimum_ratio=recipe.minimum_learning_rate_ratio,
        decay_ratio=recipe.decay_ratio,
    )
