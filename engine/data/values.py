"""Cells as they come out of files: a text may be a number, a list of turns may be a JSON text in a csv cell."""

from __future__ import annotations

import json


def text_of(value: object) -> str | None:
    """The value as text: text as it is, a number in its shortest form, None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(value)


def turns_of(value: object) -> list[dict[str, object]] | None:
    """The value as a list of turns, read from JSON where a table holds it as text; None where it is no such list."""
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return None
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            return None
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        return None
    return value
