"""Where a run stands: what a checkpoint keeps of the loop, and what a resume begins with."""

from __future__ import annotations

from dataclasses import dataclass

from engine.training.checkpoint import TrainingState
from engine.training.optimizer_step import StepResult


@dataclass
class Progress:
    """Counts over the whole run, all attempts. `updates` are the steps that were applied (Adam's own count)."""

    step: int = 0
    updates: int = 0
    micro_batches: int = 0
    trained_tokens: int = 0
    consecutive_skips: int = 0
    last_loss: float | None = None
    evaluation_loss: float | None = None
    evaluated_step: int | None = None
    best_evaluation_loss: float | None = None
    best_step: int | None = None

    @classmethod
    def of(cls, state: TrainingState) -> Progress:
        """The progress that a checkpoint stands for."""
        return cls(
            step=state.step,
            updates=state.updates,
            micro_batches=state.micro_batches,
            trained_tokens=state.trained_tokens,
            consecutive_skips=state.consecutive_skips,
            last_loss=state.last_loss,
            evaluation_loss=state.evaluation_loss,
            evaluated_step=None if state.evaluation_loss is None else state.step,
            best_evaluation_loss=state.best_evaluation_loss,
            best_step=state.best_step,
        )

    def state(self) -> TrainingState:
        """What a checkpoint of this moment keeps. An evaluation of an earlier step is not this checkpoint's loss."""
        return TrainingState(
            step=self.step,
            updates=self.updates,
            micro_batches=self.micro_batches,
            trained_tokens=self.trained_tokens,
            consecutive_skips=self.consecutive_skips,
            last_loss=self.last_loss,
            evaluation_loss=self.evaluation_loss if self.evaluated_step == self.step else None,
            best_evaluation_loss=self.best_evaluation_loss,
            best_step=self.best_step,
        )

    @property
    def is_best_now(self) -> bool:
        """Whether this very step was evaluated as the best so far."""
        return self.best_step == self.step and self.evaluated_step == self.step

    def count(self, result: StepResult, *, skips: int) -> None:
        """One more step. A skipped one counts as a step, its tokens do not count as trained."""
        self.step += 1
        self.micro_batches += result.micro_batches
        self.consecutive_skips = skips
        if result.applied:
            self.updates += 1
            self.trained_tokens += result.trained_tokens
            self.last_loss = result.loss

    def evaluated(self, loss: float | None) -> bool:
        """Note an evaluation of this step. Returns whether it is the best so far; the untrained model never is."""
        self.evaluated_step = self.step
        self.evaluation_loss = loss
        if (
            self.step == 0
            or loss is None
            or (self.best_evaluation_loss is not None and loss >= self.best_evaluation_loss)
        ):
            return False
        self.best_evaluation_loss, self.best_step = loss, self.step
        return True
