"""Everything that keeps a plan from being launched, or that a person should know before, all at once."""

from __future__ import annotations

from engine.models.registry import ModelDescription
from engine.planner.machine import MachineSpec
from engine.protocol.data_messages import DataStatistics
from engine.protocol.errors import Problem
from engine.protocol.plan import Budget
from engine.protocol.recipe import ResolvedRecipe

GIB = 2**30


def plan_problems(
    recipe: ResolvedRecipe,
    description: ModelDescription,
    statistics: DataStatistics | None,
    machine: MachineSpec,
    budget: Budget,
    checkpoint_bytes: int,
    model_hash: str,
) -> tuple[Problem, ...]:
    """Problems of severity "error" refuse the launch; each names the recipe key beside which it belongs."""
    found: list[Problem] = []
    if recipe.sequence_length > description.context_length:
        found.append(_beyond_context(recipe, description))
    if budget.verdict == "does_not_fit":
        found.append(_too_large(budget))
    kept = recipe.keep_last + recipe.keep_best
    if machine.disk_free_bytes and checkpoint_bytes * kept > machine.disk_free_bytes:
        found.append(_no_disk(checkpoint_bytes * kept, machine.disk_free_bytes))
    if not model_hash:
        found.append(
            Problem("model_not_here", "The model is not on this disk yet.", "Download it first.", where="model")
        )
    found += _data_problems(recipe, statistics)
    return tuple(found)


def _data_problems(recipe: ResolvedRecipe, statistics: DataStatistics | None) -> list[Problem]:
    if statistics is None:
        return [
            Problem(
                "data_not_measured",
                "The datasets have not been tokenised yet.",
                "Wait for the count.",
                where="datasets",
            )
        ]
    found = []
    if statistics.training.trained_tokens == 0:
        found.append(
            Problem(
                "nothing_to_learn",
                "No token of the datasets would be trained on.",
                "Check the format, the columns and which turns are trained on.",
                where="datasets",
            )
        )
    if recipe.evaluation_datasets and statistics.evaluation.micro_batches == 0:
        found.append(
            Problem(
                "nothing_to_evaluate",
                "No row of the evaluation datasets can be used: the run would be evaluated on nothing.",
                "Choose other evaluation datasets, or none: then a share of the rows is held out.",
                where="evaluation_datasets",
            )
        )
    for issue in statistics.issues:
        found.append(
            Problem(
                f"data_{issue.code}",
                issue.message,
                "See the rows on the data page.",
                where="datasets",
                severity="warning",
                arguments={"count": issue.count, "effect": issue.effect},
            )
        )
    return found


def _beyond_context(recipe: ResolvedRecipe, description: ModelDescription) -> Problem:
    return Problem(
        "beyond_context",
        f"The model was made for {description.context_length:,} tokens, the sequence length is "
        f"{recipe.sequence_length:,}.",
        f"Set the sequence length to {description.context_length} or less.",
        where="sequence_length",
        arguments={"context": description.context_length, "length": recipe.sequence_length},
    )


def _too_large(budget: Budget) -> Problem:
    over = budget.planned_bytes - budget.usable_bytes
    return Problem(
        "memory_does_not_fit",
        f"The plan needs {budget.planned_bytes / GIB:.1f} GiB of memory; "
        f"{budget.usable_bytes / GIB:.1f} GiB are usable.",
        f"Free {over / GIB:.1f} GiB, or apply one of the proposals.",
        where="memory",
        arguments={"needed": budget.planned_bytes, "usable": budget.usable_bytes, "over": over},
    )


def _no_disk(needed: int, free: int) -> Problem:
    return Problem(
        "no_disk_for_checkpoints",
        f"The checkpoints need {needed / 1e9:.1f} GB of disk, {free / 1e9:.1f} GB are free.",
        "Free some disk, or keep fewer checkpoints.",
        where="keep_last",
        arguments={"needed": needed, "free": free},
    )
