"""What the Data page shows of single rows: the first ones raw, and one as its tokens."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from engine.data.examples import RowUnusable
from engine.data.marking import Marked, Marker, tokens_of
from engine.data.rows import AnyRow, BadRow, Row
from engine.data.text_files import find_encoding
from engine.data.tokenising import look_at
from engine.protocol.data_messages import (
    DatasetPreviewed,
    InspectTokens,
    Place,
    PreviewDataset,
    PreviewRow,
    TokensInspected,
)

PREVIEW_CHARACTERS = 20_000
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
