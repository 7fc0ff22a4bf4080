"""Make it faster: changes of settings that would end a run sooner, each planned in full, the most useful first."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec
from msgspec.structs import replace

from engine.protocol.plan import Plan
from engine.protocol.recipe import Recipe, value_or_default

LEAST_GAIN = 0.05
"""A change that saves less of the total time than this is not worth a person's attention."""

_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
Change = dict[str, str | int | float | bool | tuple[str, ...]]


class Faster(msgspec.Struct, frozen=True):
    """`costs`: what is given up, a code: nothing, memory, adapters, passes, evaluations, quality."""

    changes: Change
    total_seconds: float
    saves: float
    costs: str
    verdict: str


def faster(recipe: Recipe, plan: Plan, replan: Callable[[Recipe], Plan | None]) -> tuple[Faster, ...]:
    """Each change that saves at least LEAST_GAIN of the predicted time and would still fit. Empty where the data was
    not counted, because then no total is known."""
    now, found = plan.timeline.total_seconds, []
    for changes, costs in _candidates(recipe, plan) if now else ():
        after = replan(replace(recipe, **changes))
        if after is None or not after.timeline.total_seconds or after.verdict == "does_not_fit":
            continue
        saves = 1 - after.timeline.total_seconds / now
        if saves >= LEAST_GAIN:
            found.append(Faster(changes, after.timeline.total_seconds, saves, costs, after.verdict))
    return tuple(sorted(found, key=lambda one: (one.costs != "nothing", -one.saves)))


def _candidates(recipe: Recipe, plan: Plan) -> list[tuple[Change, str]]:
    """Only what leaves the counted data as it is, so that a plan takes milliseconds."""
    found: list[tuple[Change, str]] = []
    if value_or_default(recipe, "recompute") == "blocks":
        found.append(({"recompute": "none"}, "memory"))
    if value_or_default(recipe, "method") == "full":
        found.append(({"method": "lora"}, "adapters"))
    elif set(cast("tuple[str, ...]", value_or_default(recipe, "lora_targets"))) > set(_ATTENTION):
        found.append(({"lora_targets": _ATTENTION}, "quality"))
    epochs = float(cast("float", value_or_default(recipe, "epochs")))
    if epochs > 1 and not recipe.maximum_steps:
        found.append(({"epochs": max(1.0, epochs / 2)}, "passes"))
    elif plan.timeline.total_steps >= 20:
        found.append(({"maximum_steps": plan.timeline.total_steps // 2}, "passes"))
    if plan.timeline.evaluations > 5:
        found.append(({"evaluate_every": 0.25}, "evaluations"))
    return found
