"""Puts the parts of a trainer together: what was prepared, with the recipe's wishes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from engine.data.preparing import PreparedData
from engine.graph.schedule import Schedule, Storage
from engine.planner.memory import category_of
from engine.planner.packing import aligned
from engine.protocol.codec import utc_now
from engine.training.attempt import Attempt
from engine.training.checkpoint import CheckpointManifest
from engine.training.checkpoint_keeper import CheckpointKeeper
from engine.training.evaluator import Evaluator, Sampler
from engine.training.executor import Executor
from engine.training.guards import NonFiniteGuard
from engine.training.loop import Trainer
from engine.training.micro_batches import MicroBatches, training_micro_batches
from engine.training.numerics import numerics_record
from engine.training.optimizer_step import OptimizerSteps
from engine.training.progress import Progress
from engine.training.sampling import Generator, end_tokens, prompter
from engine.training.schedules import learning_rates
from engine.training.telemetry import Telemetry


def assemble(
    attempt: Attempt, base: Path, data: PreparedData, schedule: Schedule, executor: Executor, progress: Progress
) -> Trainer:
    """The trainer of an attempt; nothing is computed yet."""
    recipe, timeline = attempt.recipe, attempt.plan.timeline
    steps = OptimizerSteps(
        executor=executor,
        batches=training_micro_batches(
            data.training,
            epochs=recipe.epochs,
            total_steps=timeline.total_steps,
            accumulation=recipe.gradient_accumulation_steps,
        ),
        rates=learning_rates(recipe, total_steps=timeline.total_steps, warmup_steps=timeline.warmup_steps),
        seed=recipe.seed,
        accumulation=recipe.gradient_accumulation_steps,
        maximum_grad_norm=recipe.maximum_grad_norm,
    )
    evaluates = timeline.evaluate_every_steps > 0 and len(data.evaluation) > 0
    evaluator = Evaluator(
        executor=executor,
        batches=MicroBatches(data.evaluation, len(data.evaluation)) if evaluates else None,
        sampler=_sampler(attempt, base, data, executor),
        progress=progress,
        events=attempt.events,
        tick=attempt.watch.tick,
    )
    return Trainer(
        timeline=timeline,
        steps=steps,
        evaluator=evaluator,
        keeper=_keeper(attempt, schedule, executor, progress),
        guard=NonFiniteGuard(progress.consecutive_skips),
        progress=progress,
        watch=attempt.watch,
        events=attempt.events,
        telemetry=Telemetry(
            attempt.events,
            planned_bytes={row.category: row.device_bytes + row.host_bytes for row in attempt.plan.memory},
            bound_bytes=bound_bytes(schedule, attempt.plan.placement.arena_bytes),
        ),
    )


def _sampler(attempt: Attempt, base: Path, data: PreparedData, executor: Executor) -> Sampler | None:
    recipe, placement = attempt.recipe, attempt.plan.placement
    if not recipe.sample_prompts or not placement.generation_context:
        return None
    generator = Generator(
        executor=executor,
        end=end_tokens(base, data.tokenizer),
        context=placement.generation_context,
        prefill_tokens=placement.prefill_tokens,
        tick=attempt.watch.tick,
    )
    return Sampler(
        generator, prompter(data.tokenizer, recipe.chat_template), recipe.sample_prompts, recipe.sample_tokens
    )


def _keeper(attempt: Attempt, schedule: Schedule, executor: Executor, progress: Progress) -> CheckpointKeeper:
    recipe, numerics = attempt.recipe, attempt.plan.numerics
    return CheckpointKeeper(
        folder=attempt.folder,
        executor=executor,
        schedule=schedule,
        progress=progress,
        events=attempt.events,
        template=CheckpointManifest(
            run=attempt.folder.id,
            attempt=attempt.events.attempt,
            time_utc=utc_now(),
            method=recipe.method,
            precision=recipe.precision,
            base_model={
                "label": recipe.model.label(),
                "revision": recipe.model.revision,
                "model_hash": numerics.model_hash,
            },
            numerics=numerics_record(numerics, recipe),
            state=progress.state(),
        ),
        keep_last=recipe.keep_last,
        keep_best=recipe.keep_best,
    )


def bound_bytes(schedule: Schedule, arena_bytes: int) -> dict[str, int]:
    """What the arena really holds, by category of the plan; its transient region counts as activations."""
    sums: Counter[str] = Counter()
    for tensor in schedule.tensors.values():
        if tensor.storage is not Storage.TRANSIENT and tensor.alias_of is None:
            sums[category_of(tensor)] += aligned(tensor.bytes)
    sums["activations"] = arena_bytes - sum(sums.values())
    return dict(sums)
