"""What a run folder holds before the engine starts: the recipe and the plan made for it."""

from __future__ import annotations

import msgspec

from engine.protocol.codec import is_newer
from engine.protocol.errors import SurroundingsError
from engine.protocol.folder import RunFolder
from engine.protocol.plan import Plan, decode_plan
from engine.protocol.recipe import ResolvedRecipe, parse_recipe, recipe_hash, resolve


def read_recipe(folder: RunFolder) -> ResolvedRecipe:
    """The run's recipe with every default filled in. Raises SurroundingsError."""
    try:
        text = folder.recipe.read_text(encoding="utf-8")
    except OSError as error:
        raise SurroundingsError(
            "run_incomplete", f"The run's recipe cannot be read: {error.strerror}.", "Launch the run again."
        ) from error
    return resolve(parse_recipe(text))


def read_plan(folder: RunFolder) -> Plan:
    """The run's plan. Raises SurroundingsError("run_incomplete") or ("plan_too_new")."""
    try:
        raw = folder.plan.read_bytes()
        if is_newer(raw):
            raise SurroundingsError("plan_too_new", "The plan is of a newer release.", "Update Anneal Studio.")
        return decode_plan(raw)
    except (OSError, msgspec.DecodeError) as error:
        raise SurroundingsError(
            "run_incomplete", f"The run's plan cannot be read: {error}.", "Plan and launch again."
        ) from error


def check_plan(recipe: ResolvedRecipe, plan: Plan) -> None:
    """Raises SurroundingsError("plan_of_another_recipe")."""
    if plan.recipe_hash != recipe_hash(recipe):
        raise SurroundingsError(
            "plan_of_another_recipe", "The plan was made for another recipe.", "Plan and launch again."
        )
