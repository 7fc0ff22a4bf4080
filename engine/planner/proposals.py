"""Make it fit: changes of settings that would need less memory, the cheapest sufficient one first.

Each candidate is planned in full, so what it is said to free is what it frees. At most one is recommended: the first
that reaches "fits".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from engine.protocol.plan import Budget, Plan, Proposal
from engine.protocol.recipe import ResolvedRecipe

Change = dict[str, str | int | float | bool]


def propose(recipe: ResolvedRecipe, budget: Budget, plan: Callable[[ResolvedRecipe], Plan]) -> tuple[Proposal, ...]:
    """Proposals that free memory, sorted by what they cost in speed, numerics untouched before touched."""
    before = plan(recipe)
    found = []
    for changes in _candidates(recipe):
        after = plan(msgspec.structs.replace(recipe, **changes))
        freed = budget.planned_bytes - after.budgets[0].planned_bytes
        if freed > 0:
            touches: Literal["numerics", "placement"] = "placement" if set(changes) == {"recompute"} else "numerics"
            slower = after.timeline.step_seconds / before.timeline.step_seconds - 1
            if _per_token(changes):
                slower = before.timeline.tokens_per_second / after.timeline.tokens_per_second - 1
            found.append(
                Proposal(changes=changes, frees_bytes=freed, slower=slower, verdict=after.verdict, touches=touches)
            )
    found.sort(key=lambda p: (p.verdict == "does_not_fit", p.touches == "numerics", p.slower or 0.0))
    first = next((i for i, p in enumerate(found) if p.verdict == "fits"), None)
    return tuple(msgspec.structs.replace(p, recommended=i == first) for i, p in enumerate(found))


def _per_token(changes: Change) -> bool:
    """Where a step has other tokens, speeds are compared by token, not by step."""
    return "sequence_length" in changes


def _candidates(recipe: ResolvedRecipe) -> list[Change]:
    found: list[Change] = []
    if recipe.recompute == "none":
        found.append({"recompute": "blocks"})
    if recipe.micro_batch_size > 1:
        smaller = recipe.micro_batch_size // 2
        if recipe.micro_batch_size % 2 == 0:
            accumulation = recipe.gradient_accumulation_steps * 2
            found.append({"micro_batch_size": smaller, "gradient_accumulation_steps": accumulation})
        accumulation = recipe.gradient_accumulation_steps * recipe.micro_batch_size
        found.append({"micro_batch_size": 1, "gradient_accumulation_steps": accumulation})
    for share in (2, 4):
        if recipe.sequence_length // share >= 128:
            found.append({"sequence_length": recipe.sequence_length // share})
    if recipe.method == "full":
        found.append({"method": "lora", "recompute": "none"})
        found.append({"method": "lora", "recompute": "blocks"})
    return [c for i, c in enumerate(found) if c not in found[:i]]
