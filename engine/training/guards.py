"""What to do when a step gives numbers that are none.

The device decides whether a step is applied (`decide_step`): weights never see a non-finite gradient. The host learns
of it afterwards. One bad step is skipped; several in a row mean that the run has diverged and will not come back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.protocol.errors import SurroundingsError

LONGEST_STREAK = 3


@dataclass(frozen=True)
class NonFinite:
    """Which quantity was not finite and what was done: `skipped`, or `stopped` at the end of a streak."""

    quantity: str
    action: str


@dataclass
class NonFiniteGuard:
    """Counts skipped steps in a row; the count is part of a checkpoint."""

    streak: int = 0

    def look(self, *, loss: float, grad_norm: float) -> NonFinite | None:
        """Judge one step. Returns None for a sound one."""
        if math.isfinite(loss) and math.isfinite(grad_norm):
            self.streak = 0
            return None
        self.streak += 1
        quantity = "loss" if not math.isfinite(loss) else "grad_norm"
        return NonFinite(quantity, "stopped" if self.streak >= LONGEST_STREAK else "skipped")


def diverged(quantity: str) -> SurroundingsError:
    """The error that ends a run after too many bad steps."""
    words = {"loss": "loss", "grad_norm": "gradient norm"}[quantity]
    return SurroundingsError(
        "diverged",
        f"The {words} was not a finite number in {LONGEST_STREAK} steps in a row.",
        "Resume from the last checkpoint with a lower learning rate, or look at the data of these steps.",
        quantity=quantity,
    )
