"""What a list of runs may be asked for, turned into SQL with bound values."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from studio.runs.rows import Status

SortKey = Literal[
    "created_utc", "name", "status", "model", "dataset", "method", "step", "loss", "evaluation_loss",
    "best_evaluation_loss", "seconds", "trained_tokens",
]  # fmt: skip
_SORT_KEYS: tuple[str, ...] = SortKey.__args__  # type: ignore[attr-defined]  # typing.Literal's runtime side


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Words in `search` are looked for as prefixes in name, notes, tags, model and dataset; all must be found."""

    search: str = ""
    statuses: tuple[Status, ...] = ()
    tags: tuple[str, ...] = ()
    archived: bool | None = False
    sort: SortKey = "created_utc"
    descending: bool = True

    def where(self) -> tuple[str, list[object]]:
        """The WHERE clause (empty, or beginning with WHERE) and its values."""
        parts: list[str] = []
        values: list[object] = []
        words = match_expression(self.search)
        if words:
            parts.append("id IN (SELECT run FROM runs_search WHERE runs_search MATCH ?)")
            values.append(words)
        if self.statuses:
            parts.append(f"status IN ({', '.join('?' * len(self.statuses))})")
            values.extend(self.statuses)
        for tag in self.tags:
            parts.append("id IN (SELECT run FROM tags WHERE tag = ?)")
            values.append(tag)
        if self.archived is not None:
            parts.append("archived = ?")
            values.append(int(self.archived))
        return (f"WHERE {' AND '.join(parts)}" if parts else ""), values

    def order(self) -> str:
        """The ORDER BY clause. Missing values come last, and equal ones in the order of launching."""
        if self.sort not in _SORT_KEYS:
            raise ValueError(f"runs cannot be sorted by {self.sort!r}")
        direction = "DESC" if self.descending else "ASC"
        return f"ORDER BY {self.sort} IS NULL, {self.sort} {direction}, id {direction}"


def match_expression(search: str) -> str:
    """FTS5's MATCH expression for what a person typed: no character of it is an operator."""
    return " ".join(f'"{word}"*' for word in re.findall(r"\w+", search))
