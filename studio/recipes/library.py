"""Recipes on disk: the user's own in `<home>/recipes`, and the presets that we ship."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from engine.protocol.errors import EngineError, Problem, SurroundingsError
from engine.protocol.files import write_atomically
from engine.protocol.recipe import Recipe, parse_recipe, to_yaml

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
PRESETS = RESOURCES / "recipes"
DEMO = RESOURCES / "demo" / "recipe.yaml"


class RecipeEntry(msgspec.Struct, frozen=True):
    """A line of the list. `about` is the comment that the file begins with; `problem` says why it cannot be opened."""

    name: str
    path: str
    is_preset: bool
    about: str = ""
    problem: Problem | None = None


class RecipeLibrary:
    """The folder `own` and the read-only presets."""

    def __init__(self, own: Path, presets: Path = PRESETS) -> None:
        self._own = own
        self._presets = presets

    def list(self) -> list[RecipeEntry]:
        """Own recipes first, each group by name. One that cannot be read is listed with its problem."""
        own = [_entry(path, is_preset=False) for path in sorted(self._own.glob("*.yaml"))]
        return own + [_entry(path, is_preset=True) for path in sorted(self._presets.glob("*.yaml"))]

    def open(self, path: Path | str) -> Recipe:
        """Raises SurroundingsError: "recipe.missing", or what is wrong with its text and where."""
        return read_recipe(Path(path))

    def save(self, recipe: Recipe, name: str) -> Path:
        """Save under a name of the person's choice; a file of that name that is there already is never overwritten,
        the new one gets a number. Raises OSError."""
        stem = re.sub(r"[^\w .()-]+", "-", name).strip(" .-") or "recipe"
        path, number = self._own / f"{stem}.yaml", 1
        while path.exists():
            number += 1
            path = self._own / f"{stem} {number}.yaml"
        write_atomically(path, to_yaml(recipe))
        return path

    def overwrite(self, recipe: Recipe, path: Path | str) -> None:
        """Save over the user's own file. Raises SurroundingsError("recipe.is_preset") for one of ours."""
        if Path(path).resolve().is_relative_to(self._presets.resolve()):
            raise SurroundingsError("recipe.is_preset", "Presets cannot be changed.", "Save it under a name of yours.")
        write_atomically(Path(path), to_yaml(recipe))


def read_recipe(path: Path) -> Recipe:
    """A recipe from a file; paths in it are taken relative to the file. Raises SurroundingsError."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SurroundingsError(
            "recipe.missing", f"{path} cannot be read: {error}.", "Check the path.", path=str(path)
        ) from error
    return _beside(parse_recipe(text), path.absolute().parent)


def _beside(recipe: Recipe, folder: Path) -> Recipe:
    model = recipe.model
    if model is not None and model.source == "folder" and model.path:
        model = msgspec.structs.replace(model, path=_absolute(model.path, folder))
    return msgspec.structs.replace(
        recipe,
        model=model,
        datasets=tuple(msgspec.structs.replace(d, path=_absolute(d.path, folder)) for d in recipe.datasets),
        evaluation_datasets=tuple(
            msgspec.structs.replace(d, path=_absolute(d.path, folder)) for d in recipe.evaluation_datasets
        ),
    )


def _absolute(path: str, folder: Path) -> str:
    return str((folder / Path(path).expanduser()).resolve())


def _entry(path: Path, *, is_preset: bool) -> RecipeEntry:
    try:
        text = path.read_text("utf-8-sig")
        parse_recipe(text)
    except EngineError as error:
        return RecipeEntry(path.stem, str(path), is_preset, problem=error.problem())
    except (OSError, UnicodeDecodeError) as error:
        return RecipeEntry(path.stem, str(path), is_preset, problem=Problem("recipe.missing", str(error)))
    about = " ".join(line.lstrip("# ").strip() for line in _leading_comment(text))
    return RecipeEntry(path.stem, str(path), is_preset, about)


def _leading_comment(text: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line)
    return lines
