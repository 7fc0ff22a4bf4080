"""One row of a dataset and the place where it stands: everything later names rows by it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Row:
    """One readable row. `file` is relative to the dataset's root; `line` counts from 1.

    Where a format has no lines (parquet, columns of a json object) `line` is the number of the row in its file.
    `continues` marks a piece of a text file that the next row goes on with, so that no end is taught in the middle.
    """

    file: str
    line: int
    values: dict[str, object] = field(hash=False)
    continues: bool = False


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row (or a whole file) that could not be read, and why. The rows around it stay usable."""

    file: str
    line: int
    reason: str


AnyRow = Row | BadRow
