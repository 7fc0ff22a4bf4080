"""`RECIPE` and `--set key=value`, the same for `plan` and `train`; their help is generated from the schema."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.protocol.errors import EngineError, Problem, ProblemsError, SurroundingsError
from engine.protocol.fields import FIELDS, GROUP_LABELS
from engine.protocol.recipe import Recipe
from engine.protocol.schema import FieldSpec
from studio.app import Studio
from studio.recipes.document import RecipeDocument
from studio.recipes.setting_text import setting_text


def add_recipe_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them, with every setting in the epilog."""
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file, or the name of a recipe in the library")
    parser.add_argument(
        "--set", action="extend", nargs="+", default=[], metavar="KEY=VALUE", dest="settings",
        help="change settings of the recipe; may be given several times",
    )  # fmt: skip
    parser.epilog = settings_help()


def read_document(studio: Studio, recipe: str, settings: list[str]) -> RecipeDocument:
    """The recipe with the changes made. Raises ProblemsError with every change that cannot be made."""
    document = RecipeDocument(_open(studio, recipe))
    problems: list[Problem] = []
    for text in settings:
        key, equals, value = text.partition("=")
        try:
            if not equals:
                raise SurroundingsError("not_key_value", f"{text!r} has no equals sign.", "Write --set key=value.")
            document.set_text(key.strip(), value)
        except ProblemsError as error:
            problems.extend(error.problems)
        except EngineError as error:
            problems.append(error.problem())
    if problems:
        raise ProblemsError(problems)
    return document


def settings_help() -> str:
    """One line a recipe key: label, default, unit, range."""
    lines = ["settings for --set:"]
    group = ""
    for spec in FIELDS.values():
        if spec.group != group:
            group = spec.group
            lines.append(f"  {GROUP_LABELS[group]}")
        lines.append(f"    {spec.key:<28} {_facts(spec)}")
    return "\n".join(lines)


def _facts(spec: FieldSpec) -> str:
    default = setting_text(spec.default(Recipe()))
    facts = [
        spec.label,
        f"default {default}" if default else "",
        spec.unit,
        " | ".join(value for value, _ in spec.choices),
        spec.range_text(),
    ]
    return "; ".join(fact for fact in facts if fact)


def _open(studio: Studio, recipe: str) -> Recipe:
    path = Path(recipe).expanduser()
    if not path.exists():
        named = [entry for entry in studio.recipes.list() if entry.name == recipe]
        if named:
            path = Path(named[0].path)
    return studio.recipes.open(path)
