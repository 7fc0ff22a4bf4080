"""The loop. Everything it says is an event; everything it needs is in `Trainer`'s parts; it computes nothing itself.

evaluate ► [ listen ► step ► judge ► report ► evaluate? ► save? ] × steps ► save ► RunFinished
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from engine.protocol.errors import SurroundingsError
from engine.protocol.events import NonFiniteSeen, RunFinished, StepCompleted, TrainingStarted
from engine.protocol.plan import Timeline
from engine.training.checkpoint_keeper import CheckpointKeeper
from engine.training.evaluator import Evaluator
from engine.training.event_writer import EventWriter
from engine.training.guards import NonFiniteGuard, diverged
from engine.training.optimizer_step import OptimizerSteps, StepResult
from engine.training.progress import Progress
from engine.training.telemetry import Clock, Telemetry
from engine.training.watch import StopRequested, Watch


@dataclass
class Trainer:
    """The parts of a run that is ready to train."""

    timeline: Timeline
    steps: OptimizerSteps
    evaluator: Evaluator
    keeper: CheckpointKeeper
    guard: NonFiniteGuard
    progress: Progress
    watch: Watch
    events: EventWriter
    telemetry: Telemetry

    def train(self) -> None:
        """Train to the last step. Raises StopRequested (after saving), or SurroundingsError("diverged")."""
        began = time.monotonic()
        timeline = self.timeline
        self.events.write(
            TrainingStarted(
                **self.events.stamp(), total_steps=timeline.total_steps, steps_per_epoch=timeline.steps_per_epoch
            )
        )
        try:
            self._steps()
        except StopRequested:
            if self.watch.controls.save_at_stop and self.progress.step > 0:
                self.keeper.save("stop")
            raise
        self._save_at_the_end()
        self._finished(time.monotonic() - began)

    def _save_as_asked(self) -> None:
        self.keeper.save("asked")

    def _save_at_the_end(self) -> None:
        """Without its last checkpoint a run has not finished: what it learned would be lost."""
        if (problem := self.keeper.save("end")) is not None:
            raise SurroundingsError(problem.code, problem.message, f"{problem.remedy} Then resume the run.")

    def _steps(self) -> None:
        if self.progress.step == 0 or self._evaluation_was_cut_off():
            self.evaluator.examine()
            self._save_if_best()
        clock = Clock()
        while self.progress.step < self.timeline.total_steps:
            self.watch.tick()
            clock.waited(self.watch.wait_while_paused(self._save_as_asked))
            result = self.steps.run(self.progress.step + 1, self.progress.micro_batches)
            self._judge(result)
            clock.step_ended()
            self._report(result, clock)
            self.telemetry.measure()
            self._at_boundary()

    def _judge(self, result: StepResult) -> None:
        """Progress is counted first, so that a checkpoint made at any later point holds this step."""
        finding = self.guard.look(loss=result.loss, grad_norm=result.grad_norm)
        self.progress.count(result, skips=self.guard.streak)
        self.events.step = self.progress.step
        if finding is None:
            return
        self.events.write(NonFiniteSeen(**self.events.stamp(), quantity=finding.quantity, action=finding.action))
        if finding.action == "stopped":
            self._report(result, Clock())
            raise diverged(finding.quantity)

    def _report(self, result: StepResult, clock: Clock) -> None:
        self.events.write(
            StepCompleted(
                **self.events.stamp(),
                loss=result.loss_or_none,
                learning_rate=result.learning_rate,
                grad_norm=result.grad_norm_or_none,
                tokens=result.tokens,
                trained_tokens=result.trained_tokens,
                tokens_per_second=result.tokens / result.seconds,
                step_seconds=result.seconds,
                epoch=self.progress.step / self.timeline.steps_per_epoch,
                applied=result.applied,
                clipped=result.clipped,
                remaining_seconds=clock.remaining_seconds(self.timeline.total_steps - self.progress.step),
            )
        )

    def _at_boundary(self) -> None:
        step, is_last = self.progress.step, self.progress.step == self.timeline.total_steps
        if self._evaluation_is_due():
            self.evaluator.examine()
        due = self.timeline.checkpoint_every_steps and step % self.timeline.checkpoint_every_steps == 0
        if due and not is_last:
            self.keeper.save("schedule")
        elif self.watch.controls.checkpoint_wanted and not is_last:
            self.keeper.save("asked")
        elif not is_last:
            self._save_if_best()
        self.watch.controls.checkpoint_wanted = False

    def _evaluation_is_due(self) -> bool:
        step, every = self.progress.step, self.timeline.evaluate_every_steps
        return step == self.timeline.total_steps or (every > 0 and step % every == 0)

    def _evaluation_was_cut_off(self) -> bool:
        """A stop in the middle of an evaluation saves the step without its result: it is made up for at the resume."""
        return self._evaluation_is_due() and self.progress.evaluated_step != self.progress.step

    def _save_if_best(self) -> None:
        if self.keeper.keep_best and self.progress.is_best_now:
            self.keeper.save("best")

    def _finished(self, seconds: float) -> None:
        progress = self.progress
        self.events.write(
            RunFinished(
                **self.events.stamp(),
                final_loss=progress.last_loss,
                best_evaluation_loss=progress.best_evaluation_loss,
                best_step=progress.best_step,
                trained_tokens=progress.trained_tokens,
                seconds=seconds,
            )
        )
