"""Pages of rows in short, for the table of the Data page: forward quickly, searched on request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from engine.data.examples import Conversation, Example, Passage, RowUnusable
from engine.data.formats import CONVERSATION_COLUMNS
from engine.data.marking import Marker, Shape, tokens_of
from engine.data.reading import Listing, read_rows
from engine.data.rows import AnyRow, BadRow, Row
from engine.protocol.data_messages import PageRows, Place, RowsPaged, RowSummary

TITLE_CHARACTERS = 160
SEARCH_SECONDS = 1.0
SEARCH_ROWS = 100
"""Rows looked at in one go while searching."""


class RowCursor:
    """Rows of one dataset by number. Going forward reads on from where it stood; going back starts again."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._rows: Iterator[AnyRow] = iter(())
        self._next = 0
        self._recent: list[AnyRow] = []
        self._restart()

    def _restart(self) -> None:
        self._rows = read_rows(self._listing)
        self._next = 0
        self._recent = []

    def page(self, offset: int, count: int) -> tuple[list[AnyRow], bool]:
        """Up to `count` rows from `offset`, and whether more follow."""
        if offset < self._next - len(self._recent):
            self._restart()
        while self._next <= offset + count:
            row = next(self._rows, None)
            if row is None:
                break
            self._recent.append(row)
            self._next += 1
            # Keep what this page and the one before it hold; the rest can be read again.
            if len(self._recent) > 4 * count + 1_000:
                del self._recent[: len(self._recent) - 2 * count - 500]
        first = self._next - len(self._recent)
        page = self._recent[max(0, offset - first) : offset - first + count]
        return page, self._next > offset + count


@dataclass(frozen=True)
class Summariser:
    """Rows in short; with token counts where there is a marker."""

    marker: Marker | None
    shape: Shape
    sequence_length: int

    def summary(self, number: int, row: AnyRow) -> RowSummary:
        """One row as the table shows it."""
        if isinstance(row, BadRow):
            return RowSummary(number, Place(row.file, row.line, row.reason), "", 0, issues=("malformed",))
        try:
            example = self.shape.example(row)
        except RowUnusable as unusable:
            return _unusable(number, row, _raw(row), 0, unusable)
        turns = len(example.messages) if isinstance(example, Conversation) else 1
        if self.marker is None:
            return RowSummary(number, Place(row.file, row.line), _title(example), turns)
        try:
            marked = self.marker.mark(row)
        except RowUnusable as unusable:
            return _unusable(number, row, _title(example), turns, unusable)
        ids, mask = tokens_of(marked, self.marker.tokenizer.encode(marked.text))
        cut = 0 if self.marker.format == "text" else max(0, ids.size - self.sequence_length)
        issues = marked.issues + (("too_long",) if cut else ())
        place, trained = Place(row.file, row.line), int(mask[1:].sum())
        return RowSummary(number, place, _title(example), turns, ids.size, trained, cut, issues)


def page_of_rows(request: PageRows, cursor: RowCursor, summariser: Summariser) -> RowsPaged:
    """The answer: the rows from `offset` on, or those of them that the search finds within a second."""
    if not request.search and not request.issue:
        rows, more = cursor.page(request.offset, request.count)
        found = [summariser.summary(request.offset + at, row) for at, row in enumerate(rows)]
        return RowsPaged(id=request.id, rows=tuple(found), more=more, next_row=request.offset + len(rows))
    until = time.monotonic() + SEARCH_SECONDS
    found, number, more = [], request.offset, True
    while more and len(found) < request.count and time.monotonic() < until:
        rows, more = cursor.page(number, SEARCH_ROWS)
        for at, row in enumerate(rows):
            number += 1
            if _holds(row, request.search):
                summary = summariser.summary(number - 1, row)
                if not request.issue or request.issue in summary.issues:
                    found.append(summary)
            if len(found) == request.count:
                more = more or at + 1 < len(rows)
                break
    return RowsPaged(id=request.id, rows=tuple(found), more=more, next_row=number)


def _holds(row: AnyRow, search: str) -> bool:
    if not search:
        return True
    if isinstance(row, BadRow):
        return False
    return search.casefold() in msgspec.json.encode(row.values, enc_hook=str).decode(errors="replace").casefold()


def _unusable(number: int, row: Row, title: str, turns: int, unusable: RowUnusable) -> RowSummary:
    return RowSummary(number, Place(row.file, row.line, unusable.reason), title, turns, issues=(unusable.code,))


def _title(example: Example) -> str:
    if isinstance(example, Passage):
        return example.text[:TITLE_CHARACTERS]
    asked = next((message for message in example.messages if message["role"] == "user"), example.messages[0])
    return str(asked["content"])[:TITLE_CHARACTERS]


def _raw(row: Row) -> str:
    shown = {key: value for key, value in row.values.items() if key not in CONVERSATION_COLUMNS} or row.values
    return msgspec.json.encode(shown, enc_hook=str).decode(errors="replace")[:TITLE_CHARACTERS]
