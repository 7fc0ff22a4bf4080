"""What the Data page shows of single rows: the first ones raw, a page of them in short, one as its tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from engine.data.examples import Conversation, Example, Passage, RowUnusable
from engine.data.formats import CONVERSATION_COLUMNS
from engine.data.marking import Marked, Marker, Shape, tokens_of
from engine.data.reading import Listing, read_rows
from engine.data.rows import AnyRow, BadRow, Row
from engine.data.text_files import find_encoding
from engine.data.tokenising import look_at
from engine.protocol.data_messages import (
    DatasetPreviewed,
    InspectTokens,
    Place,
    PreviewDataset,
    PreviewRow,
    RowSummary,
    TokensInspected,
)

PREVIEW_CHARACTERS = 20_000
TITLE_CHARACTERS = 160
BINARY_KINDS = (".parquet",)


def preview(request: PreviewDataset) -> DatasetPreviewed:
    """The answer to a preview: reads no further than the first rows of each file. Raises SurroundingsError."""
    look = look_at(request.dataset)
    readable = look.readable
    texts = [file for file in look.listing.files if file.suffix.lower() not in BINARY_KINDS]
    columns = dict.fromkeys(key for row in readable for key in row.values)
    return DatasetPreviewed(
        id=request.id,
        format=look.detection.format,
        evidence=look.detection.evidence,
        formats=look.detection.matches,
        columns=tuple(columns),
        mapping=look.detection.mapping,
        files=tuple(look.listing.name(file) for file in look.listing.files),
        skipped_files=look.listing.skipped,
        size_bytes=sum(file.stat().st_size for file in look.listing.files),
        encodings=tuple(dict.fromkeys(_encoding(file) for file in texts[:64])),
        rows=tuple(PreviewRow(Place(row.file, row.line), _json(row)) for row in readable[: request.rows]),
        problems=tuple(Place(row.file, row.line, row.reason) for row in look.rows if isinstance(row, BadRow)),
        complete=look.complete and len(readable) <= request.rows,
    )


def _encoding(file: Path) -> str:
    found = find_encoding(file)
    return f"{found.name} (guessed)" if found.guessed else found.name


def _json(row: Row) -> str:
    return msgspec.json.encode(row.values, enc_hook=str).decode(errors="replace")[:PREVIEW_CHARACTERS]


class RowCursor:
    """Rows of one data set by number. Going forward reads on from where it stood; going back starts again."""

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


def summarise(number: int, row: AnyRow, marker: Marker | None, shape: Shape, sequence_length: int) -> RowSummary:
    """A row in short; with token counts where a marker with a tokenizer is given."""
    place = Place(row.file, row.line, row.reason if isinstance(row, BadRow) else "")
    if isinstance(row, BadRow):
        return RowSummary(number, place, "", 0, issues=("malformed",))
    try:
        example = shape.example(row)
    except RowUnusable as unusable:
        return RowSummary(number, Place(row.file, row.line, unusable.reason), _raw(row), 0, issues=(unusable.code,))
    title, turns = _title(example), len(example.messages) if isinstance(example, Conversation) else 1
    if marker is None:
        return RowSummary(number, place, title, turns)
    try:
        marked = marker.mark(row)
    except RowUnusable as unusable:
        reason = Place(row.file, row.line, unusable.reason)
        return RowSummary(number, reason, title, turns, issues=(unusable.code,))
    ids, mask = tokens_of(marked, marker.tokenizer.encode(marked.text))
    cut = 0 if marker.format == "text" else max(0, ids.size - sequence_length)
    issues = marked.issues + (("too_long",) if cut else ())
    return RowSummary(number, place, title, turns, ids.size, int(mask[1:].sum()), cut, issues)


def _title(example: Example) -> str:
    if isinstance(example, Passage):
        return example.text[:TITLE_CHARACTERS]
    asked = next((message for message in example.messages if message["role"] == "user"), example.messages[0])
    return str(asked["content"])[:TITLE_CHARACTERS]


def _raw(row: Row) -> str:
    shown = {key: value for key, value in row.values.items() if key not in CONVERSATION_COLUMNS} or row.values
    return msgspec.json.encode(shown, enc_hook=str).decode(errors="replace")[:TITLE_CHARACTERS]


def inspect(request: InspectTokens, row: AnyRow, marker: Marker, sequence_length: int) -> TokensInspected:
    """The answer for one row: exactly the ids and the mask that training uses, with the text of each token."""
    template = marker.template.name if marker.template else "none"
    place = Place(row.file, row.line)
    try:
        marked = marker.mark(row)
    except RowUnusable as unusable:
        return TokensInspected(
            id=request.id, place=place, ids=(), texts=(), trained=(), special=(), cut_at=0, rendered="",
            template=template, issues=(unusable.code,), reason=unusable.reason,
        )  # fmt: skip
    encoded = marker.tokenizer.encode(marked.text)
    ids, mask = tokens_of(marked, encoded)
    cut_at = ids.size if marker.format == "text" else min(ids.size, sequence_length)
    learned = mask.astype(bool)
    learned[:1] = False  # nothing predicts the first token
    return TokensInspected(
        id=request.id,
        place=place,
        ids=tuple(ids.tolist()),
        texts=_token_texts(marked, encoded.offsets, marker),
        trained=tuple(learned.tolist()),
        special=tuple(np.isin(ids, list(marker.tokenizer.special_ids)).tolist()),
        cut_at=cut_at,
        rendered=marked.text,
        template=template,
        issues=marked.issues + (("too_long",) if cut_at < ids.size else ()),
    )


def _token_texts(marked: Marked, offsets: list[tuple[int, int]], marker: Marker) -> tuple[str, ...]:
    """Each token's share of the text: together they are the text, whatever a tokenizer leaves out of its offsets."""
    texts = [marker.tokenizer.token_text(number) for number in marked.begin]
    position = 0
    for _, end in offsets:
        texts.append(marked.text[position : max(position, end)])
        position = max(position, end)
    texts.extend(marker.tokenizer.token_text(number) for number in marked.end)
    return tuple(texts)
