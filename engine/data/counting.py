"""The figures of prepared data: issues with examples, lengths, what a block holds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.data.batches import Batches
from engine.data.documents import Cut, Rows, content_hashes
from engine.data.issues import ISSUES
from engine.data.store import TokenStore
from engine.protocol.data_messages import Histogram, Issue, Place, SplitStatistics

BIN_TOKENS = 64
MOST_BINS = 4_096
EXAMPLES = 5


def split_statistics(part: Cut, batches: Batches) -> SplitStatistics:
    """One side of the split in figures."""
    lengths = part.documents.length
    tokens = int(lengths.sum())
    capacity = len(batches) * batches.micro_batch_size * batches.sequence_length
    return SplitStatistics(
        rows=part.rows,
        documents=part.documents.count,
        tokens=tokens,
        trained_tokens=part.trained_tokens,
        blocks=batches.blocks,
        micro_batches=len(batches),
        padding_tokens=capacity - tokens,
        truncated_rows=int(part.truncated.size - part.nothing_left.size),
        lost_tokens=part.lost_tokens,
        largest_document=int(lengths.max()) if lengths.size else 0,
    )


def histogram(lengths: npt.NDArray[np.int64]) -> Histogram:
    """Row lengths in bins of 64 tokens, wider where one row is so long that there would be too many bins."""
    longest = int(lengths.max()) if lengths.size else 1
    width = BIN_TOKENS
    while longest > width * MOST_BINS:
        width *= 2
    bins = (lengths - 1) // width
    count = int(bins.max()) + 1 if lengths.size else 0
    rows = np.bincount(bins, minlength=count)
    tokens = np.zeros(count, np.int64)
    np.add.at(tokens, bins, lengths)
    return Histogram(width, tuple(rows.tolist()), tuple(tokens.tolist()))


def stored_issues(stores: tuple[TokenStore, ...]) -> list[Issue]:
    """What the rows themselves carry (their flags), over all stores: those to train on, then those to evaluate on."""
    issues = []
    for code, kind in ISSUES.items():
        found = [np.flatnonzero(store.rows["flags"] >> np.uint32(kind.bit) & np.uint32(1)) for store in stores]
        places = [
            _place(number, store, int(row))
            for number, (store, rows) in enumerate(zip(stores, found, strict=True))
            for row in rows[:EXAMPLES]
        ]
        issues += _issue(code, sum(rows.size for rows in found), places)
    return issues


def row_issue(code: str, sides: list[tuple[tuple[TokenStore, ...], Rows, npt.NDArray[np.int64], int]]) -> list[Issue]:
    """An issue about some usable rows of each side; a side is stores, rows, positions in the rows, and the number of
    its first dataset."""
    places = [
        _place(first + int(rows.store[at]), stores[int(rows.store[at])], int(rows.number[at]))
        for stores, rows, positions, first in sides
        for at in positions[:EXAMPLES]
    ]
    return _issue(code, sum(positions.size for _, _, positions, _ in sides), places)


def _issue(code: str, count: int, places: list[Place]) -> list[Issue]:
    kind = ISSUES[code]
    return [Issue(code, int(count), kind.effect, kind.message, tuple(places[:EXAMPLES]))] if count else []


def _place(dataset: int, store: TokenStore, row: int) -> Place:
    record = store.rows[row]
    reason = store.meta.reasons.get(row, "")
    return Place(store.meta.files[int(record["file"])], int(record["line"]), reason, dataset)


def repeated(stores: tuple[TokenStore, ...], rows: Rows) -> npt.NDArray[np.int64]:
    """Positions of rows that stood before: all but the first of each content, in order."""
    if not rows.count:
        return np.empty(0, np.int64)
    _, first = np.unique(content_hashes(stores, rows), return_index=True)
    again = np.ones(rows.count, bool)
    again[first] = False
    return np.flatnonzero(again)


def shared(
    stores: tuple[TokenStore, ...], rows: Rows, other_stores: tuple[TokenStore, ...], others: Rows
) -> npt.NDArray[np.int64]:
    """Positions of rows whose content stands among the others too."""
    if not rows.count or not others.count:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.isin(content_hashes(stores, rows), content_hashes(other_stores, others)))
