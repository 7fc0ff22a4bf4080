"""Learning rate as a pure function of the step: nothing to save, so nothing to restore wrongly.

    rate │    ______________            step 1 … warmup_steps   rises linearly to the peak, never zero
         │   /              \\__         then                    constant, linear, cosine or WSD
         │  /                           last step               peak × minimum_ratio (constant: peak)
         └──────────────────────

WSD (warm-up, stable, decay; Hu et al. 2024, "MiniCPM") holds the peak and falls linearly over the last fifth.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, assert_never

ScheduleKind = Literal["constant", "linear", "cosine", "wsd"]

WSD_DECAY_FRACTION = 0.2


@dataclass(frozen=True, slots=True)
class LearningRateSchedule:
    """The rate of each optimizer step of a run of `total_steps` steps.

    Steps are counted from 1. `peak` is the recipe's learning rate, `minimum_ratio` the share of it at the last step.
    """

    kind: ScheduleKind
    peak: float
    total_steps: int
    warmup_steps: int
    minimum_ratio: float

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
                decay = max(0.0, (progress - (1.0 - WSD_DECAY_FRACTION)) / WSD_DECAY_FRACTION)
                return 1.0 - (1.0 - self.minimum_ratio) * decay
            case _:
                assert_never(self.kind)
