"""Evaluations and samples as events: how good the model is now, in a number and in its own words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.protocol.events import EvaluationCompleted, NonFiniteSeen, SampleGenerated
from engine.training.evaluation import evaluate
from engine.training.event_writer import EventWriter
from engine.training.executor import Executor
from engine.training.micro_batches import MicroBatches
from engine.training.progress import Progress
from engine.training.sampling import Generator, Prompter


@dataclass(frozen=True)
class Sampler:
    """The recipe's sample prompts and what answers them."""

    generator: Generator
    prompter: Prompter
    prompts: tuple[str, ...]
    tokens: int

    def sample(self, events: EventWriter) -> None:
        """Answer every prompt, greedily."""
        for index, prompt in enumerate(self.prompts):
            began = time.monotonic()
            answer = list(self.generator.stream(self.prompter.ids(prompt), self.tokens))
            events.write(
                SampleGenerated(
                    **events.stamp(),
                    index=index,
                    prompt=prompt,
                    text=self.prompter.tokenizer.decode(answer),
                    new_tokens=len(answer),
                    seconds=time.monotonic() - began,
                )
            )


@dataclass(frozen=True)
class Evaluator:
    """`batches` None: there is nothing to evaluate on. `sampler` None: there are no sample prompts."""

    executor: Executor
    batches: MicroBatches | None
    sampler: Sampler | None
    progress: Progress
    events: EventWriter
    tick: Callable[[], None]

    def examine(self) -> None:
        """Evaluate and sample, as far as the recipe has something for it. Raises what `tick` raises."""
        if self.batches is not None:
            self._evaluate(self.batches)
        if self.sampler is not None:
            self.sampler.sample(self.events)

    def _evaluate(self, batches: MicroBatches) -> None:
        result = evaluate(self.executor, batches, lambda done, total, unit: self.tick())
        if result.loss_or_none is None:
            self.events.write(NonFiniteSeen(**self.events.stamp(), quantity="evaluation_loss", action="noted"))
        best = self.progress.evaluated(result.loss_or_none)
        self.events.write(
            EvaluationCompleted(
                **self.events.stamp(),
                evaluation_loss=result.loss_or_none,
                accuracy=result.accuracy if result.loss_or_none is not None else None,
                trained_tokens=result.tokens,
                seconds=result.seconds,
                best=best,
            )
        )
