"""A run's events as lines: phases, steps with ETA, evaluations, samples, checkpoints, the end."""

from __future__ import annotations

import time

from engine.protocol import events as e
from studio.cli.output import Output
from studio.cli.words import count, duration, gigabytes, number
from studio.runs.fold import AnyEvent

_SECONDS_BETWEEN_LINES = 5.0


class Teller:
    """Tells events on standard error. On a terminal steps share one line; elsewhere one comes every few seconds."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._total: int | None = None
        self._told = 0.0

    def tell(self, event: AnyEvent) -> None:
        match event:
            case e.RunStarted():
                self._total = event.total_steps
                if event.resumed_from_step is not None:
                    self._output.note(f"Attempt {event.attempt} goes on from step {event.resumed_from_step}.")
            case e.PhaseProgressed():
                self._passing(_phase(event))
            case e.PhaseCompleted():
                self._output.note(f"{_words(event.phase)}: done in {duration(event.seconds)}")
            case e.TrainingStarted():
                self._total = event.total_steps
                self._output.note(f"Training: {count(event.total_steps)} steps")
            case e.StepCompleted():
                self._passing(self._step(event), last=event.step == self._total)
            case _:
                self._tell_rare(event)

    def _tell_rare(self, event: AnyEvent) -> None:
        match event:
            case e.EvaluationCompleted():
                best = "  (best so far)" if event.best else ""
                self._output.note(f"step {event.step}: evaluation loss {number(event.evaluation_loss)}{best}")
            case e.SampleGenerated():
                self._output.note(f"step {event.step}: “{event.prompt}” → {event.text.strip()}")
            case e.CheckpointSaved():
                self._output.note(f"step {event.step}: checkpoint saved, {gigabytes(event.size_bytes)}")
            case e.NonFiniteSeen():
                self._output.note(f"step {event.step}: {event.quantity} is not finite, {event.action}")
            case e.WarningRaised() | e.CheckpointFailed() | e.RunFailed():
                self._output.problems([event.problem])
            case e.RunPaused():
                self._output.note(f"step {event.step}: paused")
            case e.RunUnpaused():
                self._output.note(f"step {event.step}: going on")
            case e.CommandRejected():
                self._output.problems([event.problem])
            case _:
                return

    def _passing(self, line: str, *, last: bool = False) -> None:
        now = time.monotonic()
        if self._output.is_terminal:
            self._output.status(line)
        elif last or now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = now
            self._output.note(line)

    def _step(self, event: e.StepCompleted) -> str:
        of = f" of {count(self._total)}" if self._total else ""
        left = f", {duration(event.remaining_seconds)} left" if event.remaining_seconds is not None else ""
        return (
            f"step {count(event.step)}{of}: loss {number(event.loss)}, {event.tokens_per_second:,.0f} tokens/s, "
            f"learning rate {event.learning_rate:.2e}{left}"
        )


def _phase(event: e.PhaseProgressed) -> str:
    share = f"{event.done / event.total:.0%}" if event.total else f"{count(event.done)} {event.unit}"
    left = f", {duration(event.remaining_seconds)} left" if event.remaining_seconds else ""
    return f"{_words(event.phase)}: {share}{left}"


def _words(phase: str) -> str:
    return phase.replace("_", " ").capitalize()
