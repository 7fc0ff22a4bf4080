"""Recipe + model + data + machine → plan. Pure: the same arguments give the same plan.

decide ──► options ──► schedule ──► layout ──► memory, verdict
                               └──► timing ──► timeline          all of it ──► Plan
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from engine.graph.options import ScheduleOptions
from engine.graph.programs import build_schedule
from engine.graph.rewrites.lora import is_adapter
from engine.graph.schedule import Schedule
from engine.models.registry import ModelDescription, build_model, describe
from engine.planner.decide import numerics_of, placement_of, reasons_for
from engine.planner.layout import Layout, lay_out
from engine.planner.machine import MachineSpec
from engine.planner.memory import host_budget, memory_rows
from engine.planner.options import schedule_options
from engine.planner.problems import plan_problems
from engine.planner.proposals import propose
from engine.planner.timeline import count_steps
from engine.planner.timing import program_cost
from engine.protocol.data_messages import DataStatistics
from engine.protocol.plan import Plan, Proposal, Timeline
from engine.protocol.recipe import ResolvedRecipe, recipe_hash

ENGINE_VERSION = "0.1.0"

Config = Mapping[str, object]


@dataclass(frozen=True)
class Footprint:
    """A schedule with its layout: what one set of settings needs."""

    schedule: Schedule
    layout: Layout


def footprint(config: Config, options: ScheduleOptions) -> Footprint:
    """Build and lay out. The expensive part of planning (tens of milliseconds), so the last few are remembered."""
    return _footprint(msgspec.json.encode(config, order="deterministic"), options)


@lru_cache(maxsize=8)
def _footprint(config: bytes, options: ScheduleOptions) -> Footprint:
    schedule = build_schedule(build_model(msgspec.json.decode(config)), options)
    return Footprint(schedule, lay_out(schedule))


def make_plan(
    recipe: ResolvedRecipe,
    config: Config,
    statistics: DataStatistics | None,
    machine: MachineSpec,
    model_hash: str = "",
    *,
    with_proposals: bool = True,
) -> Plan:
    """The plan of a run. Without `statistics` (data not tokenised yet) the timeline has no steps and the plan has a
    problem `data_not_measured`; without `model_hash` it cannot be launched either.

    Raises EngineError where the model's architecture cannot be trained.
    """
    description = describe(config)
    numerics = numerics_of(recipe, description, statistics, machine, model_hash, ENGINE_VERSION)
    placement = placement_of(recipe, description)
    made = footprint(config, schedule_options(recipe, numerics, placement))
    rows = memory_rows(made.schedule, made.layout, description.vocabulary)
    budget = host_budget(rows, machine)
    timeline = _timeline(recipe, made.schedule, statistics, machine)
    trainable = _trainable(made.schedule)
    checkpoint = trainable * 12
    problems = plan_problems(recipe, description, statistics, machine, budget, checkpoint, model_hash)
    proposals: tuple[Proposal, ...] = ()
    if with_proposals and budget.verdict != "fits":
        proposals = propose(
            recipe, budget, lambda changed: make_plan(changed, config, statistics, machine, with_proposals=False)
        )
    return Plan(
        recipe_hash=recipe_hash(recipe),
        numerics=numerics,
        placement=msgspec.structs.replace(
            placement, arena_bytes=made.layout.arena_bytes, offsets=dict(made.layout.offsets)
        ),
        memory=rows,
        budgets=(budget,),
        timeline=timeline,
        checkpoint_bytes=checkpoint,
        verdict=budget.verdict,
        trainable_parameters=trainable,
        total_parameters=_total(description, made.schedule),
        reasons=reasons_for(recipe, numerics, machine),
        problems=problems,
        proposals=proposals,
    )


def schedule_of(plan: Plan, recipe: ResolvedRecipe, config: Config) -> Schedule:
    """The schedule that `plan` was made for; its tensors lie at `plan.placement.offsets`."""
    return footprint(config, schedule_options(recipe, plan.numerics, plan.placement)).schedule


def _timeline(
    recipe: ResolvedRecipe, schedule: Schedule, statistics: DataStatistics | None, machine: MachineSpec
) -> Timeline:
    micro = program_cost(schedule, schedule.programs["train_micro"], machine)
    update = program_cost(schedule, schedule.programs["optimizer"], machine)
    evaluate = program_cost(schedule, schedule.programs["evaluate"], machine)
    accumulation = recipe.gradient_accumulation_steps
    step_seconds = micro.seconds * accumulation + update.seconds
    tokens = recipe.micro_batch_size * recipe.sequence_length * accumulation
    filled = statistics.packing_efficiency if statistics else 1.0  # as runs report it: padding is no token
    steps = count_steps(recipe, statistics) if statistics else None
    evaluation_seconds = evaluate.seconds * statistics.evaluation.micro_batches if statistics else 0.0
    return Timeline(
        total_steps=steps.total if steps else 0,
        steps_per_epoch=steps.per_epoch if steps else 0.0,
        warmup_steps=steps.warmup if steps else 0,
        evaluate_every_steps=steps.evaluate_every if steps else 0,
        checkpoint_every_steps=steps.checkpoint_every if steps else 0,
        evaluations=steps.evaluations if steps else 0,
        tokens_per_step=tokens,
        trained_tokens_per_epoch=statistics.training.trained_tokens if statistics else 0,
        step_seconds=step_seconds,
        tokens_per_second=tokens * filled / step_seconds,
        total_seconds=(steps.total * step_seconds + steps.evaluations * evaluation_seconds) if steps else 0.0,
        flops_per_step=micro.flops * accumulation + update.flops,
        measured=machine.measured,
    )


def _trainable(schedule: Schedule) -> int:
    return sum(schedule.tensors[slots.weight].elements for slots in schedule.parameters if slots.is_trainable)


def _total(description: ModelDescription, schedule: Schedule) -> int:
    adapters = sum(schedule.tensors[s.weight].elements for s in schedule.parameters if is_adapter(s.name))
    return description.parameters + adapters
