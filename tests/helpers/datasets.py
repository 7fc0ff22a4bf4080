"""Rows on disk and recipes over them, for tests of data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, ResolvedRecipe, resolve


def turns(*contents: str, system: str | None = None) -> list[dict[str, object]]:
    """User and assistant in turn, after a system turn where one is given."""
    roles = ["user", "assistant"] * len(contents)
    messages: list[dict[str, object]] = [{"role": "system", "content": system}] if system is not None else []
    return messages + [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]


def chat(*contents: str, system: str | None = None) -> dict[str, object]:
    """A row of chat messages."""
    return {"messages": turns(*contents, system=system)}


def write_lines(path: Path, rows: Sequence[object]) -> Path:
    """Rows as JSON lines; a text is written as it is (to break a line). Returns the path."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def data_recipe(*paths: Path, evaluation: Sequence[Path] = (), **settings: object) -> ResolvedRecipe:
    """A recipe over datasets alone."""
    recipe = Recipe(
        model=ModelRef(source="folder", path="none"),
        datasets=tuple(DatasetRef(str(path)) for path in paths),
        evaluation_datasets=tuple(DatasetRef(str(path)) for path in evaluation),
    )
    return resolve(msgspec.structs.replace(recipe, **settings))


def silent(phase: str, done: int, total: int, unit: str) -> None:
    """Progress that nobody wants to hear."""
