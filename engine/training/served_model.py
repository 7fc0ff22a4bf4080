"""A model opened for answers or evaluation: the weights and what those programs touch, nothing of training."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.data.tokenizer import TextTokenizer, load_tokenizer
from engine.graph.options import ScheduleOptions
from engine.graph.programs import build_schedule
from engine.graph.schedule import Schedule
from engine.models.registry import build_model, describe
from engine.planner.decide import PREFILL_TOKENS
from engine.planner.layout import lay_out
from engine.planner.machine import MachineSpec
from engine.planner.make import make_plan
from engine.planner.options import schedule_options
from engine.protocol.errors import SurroundingsError
from engine.protocol.folder import RunFolder
from engine.protocol.recipe import ModelRef, Recipe, ResolvedRecipe, resolve
from engine.runtime.executor import ReferenceExecutor
from engine.training.checkpoint import read_manifest, verify_checkpoint
from engine.training.memory import require_memory
from engine.training.model_folder import model_folder, read_config
from engine.training.parameters import load_trained
from engine.training.phases import Progress
from engine.training.prepare import load_model
from engine.training.run_files import read_plan, read_recipe
from engine.training.sampling import Generator, Prompter, end_tokens, prompter
from engine.training.serving import serving_schedule


@dataclass(frozen=True)
class Subject:
    """Which weights: a model folder, and a checkpoint of a run on top of it (None: the model as it is)."""

    base: Path
    recipe: ResolvedRecipe
    options: ScheduleOptions
    threads: int
    checkpoint: Path | None


def choose_checkpoint(folder: RunFolder, which: str) -> Path | None:
    """`best` (lowest evaluation loss; the last where none was evaluated), `last`, a step, or `base` (None).

    Raises SurroundingsError("no_such_checkpoint").
    """
    if which == "base":
        return None
    found = dict(folder.checkpoints())
    if not found:
        raise SurroundingsError("no_such_checkpoint", "The run has no checkpoint.", "Train longer, or save one.")
    if which == "best":
        losses = {step: read_manifest(path).state.evaluation_loss for step, path in found.items()}
        judged = [(loss, step) for step, loss in losses.items() if loss is not None]
        return found[min(judged)[1] if judged else max(found)]
    step = max(found) if which == "last" else (int(which) if which.isdecimal() else -1)
    if step not in found:
        steps = ", ".join(str(each) for each in found)
        raise SurroundingsError(
            "no_such_checkpoint", f"There is no checkpoint {which}.", f"Choose best, last or one of: {steps}."
        )
    return found[step]


def subject_of_run(folder: RunFolder, which: str) -> Subject:
    """A checkpoint of a run, in the run's own precision and shapes. `base`: the same model without what was trained."""
    recipe, plan = read_recipe(folder), read_plan(folder)
    checkpoint = choose_checkpoint(folder, which)
    options = schedule_options(recipe, plan.numerics, plan.placement)
    if checkpoint is None:
        options = replace(options, lora=None)
    return Subject(model_folder(recipe.model), recipe, options, plan.numerics.threads, checkpoint)


def subject_of_model(folder: Path) -> Subject:
    """A model folder by itself, in float32."""
    recipe = resolve(Recipe(model=ModelRef(source="folder", path=str(folder)), method="full"))
    base = model_folder(recipe.model)
    machine = MachineSpec(cores=usable_cores(), memory_bytes=0, other_bytes=0)
    plan = make_plan(recipe, read_config(base), None, machine, with_proposals=False)
    options = schedule_options(recipe, plan.numerics, plan.placement)
    return Subject(base, recipe, options, plan.numerics.threads, None)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def open_executor(
    subject: Subject, options: ScheduleOptions, programs: tuple[str, ...], progress: Progress
) -> tuple[Schedule, ReferenceExecutor]:
    """Bind these programs and load the subject's weights. Raises SurroundingsError (memory, files, checkpoint)."""
    config = read_config(subject.base)
    schedule = serving_schedule(build_schedule(build_model(config), options), programs)
    layout = lay_out(schedule)
    require_memory(layout.arena_bytes)
    executor = ReferenceExecutor(schedule, layout.offsets, layout.arena_bytes, subject.threads)
    load_model(subject.base, schedule, executor, progress)
    if subject.checkpoint is not None:
        verify_checkpoint(subject.checkpoint, read_manifest(subject.checkpoint))
        load_trained(executor, schedule, subject.checkpoint, subject.recipe.method)
    return schedule, executor


@dataclass(frozen=True)
class Answerer:
    """Everything that answers prompts."""

    tokenizer: TextTokenizer
    prompter: Prompter
    generator: Generator
    executor: ReferenceExecutor


def open_answerer(
    subject: Subject, prompts: list[str], max_tokens: int, progress: Progress, tick: Callable[[], None]
) -> Answerer:
    """Bind prefill and decode for exactly these prompts. Raises SurroundingsError("prompt_too_long")."""
    tokenizer = load_tokenizer(subject.base)
    asks = prompter(tokenizer, subject.recipe.chat_template)
    longest = max(len(asks.ids(prompt)) for prompt in prompts)
    most = describe(read_config(subject.base)).context_length
    if longest >= most:
        raise SurroundingsError(
            "prompt_too_long", f"The prompt has {longest} tokens; the model takes {most}.", "Shorten the prompt."
        )
    context = min(longest + max_tokens, most)
    options = replace(subject.options, generation_context=context, prefill_chunk=min(PREFILL_TOKENS, context))
    _, executor = open_executor(subject, options, ("prefill", "decode"), progress)
    generator = Generator(
        executor=executor,
        end=end_tokens(subject.base, tokenizer),
        context=context,
        prefill_tokens=options.prefill_chunk,
        tick=tick,
    )
    return Answerer(tokenizer, asks, generator, executor)
