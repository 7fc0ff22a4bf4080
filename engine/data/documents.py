"""What is trained on, piece by piece: documents are stretches of stored tokens no longer than a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.data.issues import ISSUES
from engine.data.marking import TokenIds, TokenMask
from engine.data.permutation import Purpose, permutation
from engine.data.store import TokenStore

Indices = npt.NDArray[np.int64]

LEFT_OUT = sum(1 << kind.bit for kind in ISSUES.values() if kind.effect == "left_out")


@dataclass(frozen=True)
class Rows:
    """Rows of several stores by (store, number), each i64[rows]."""

    store: Indices
    number: Indices

    @property
    def count(self) -> int:
        return int(self.number.size)

    def take(self, order: Indices) -> Rows:
        """These rows in this order."""
        return Rows(self.store[order], self.number[order])


@dataclass(frozen=True)
class Documents:
    """Stretches of stored tokens: (store, first token, length), each i64[documents]. Length ≥ 2."""

    stores: tuple[TokenStore, ...]
    store: Indices
    start: Indices
    length: Indices

    @property
    def count(self) -> int:
        return int(self.length.size)

    def tokens(self, document: int) -> tuple[TokenIds, TokenMask]:
        """(ids i32[n], mask u8[n]) of one document."""
        store = self.stores[int(self.store[document])]
        start = int(self.start[document])
        end = start + int(self.length[document])
        return store.ids[start:end], store.mask[start:end]

    def take(self, order: Indices) -> Documents:
        """These documents in this order."""
        return Documents(self.stores, self.store[order], self.start[order], self.length[order])


@dataclass(frozen=True)
class Cut:
    """Documents of some rows, and what the cut at the sequence length did to them.

    `trained_tokens` counts predictions with weight. `nothing_left` are positions in the rows given.
    """

    documents: Documents
    rows: int
    truncated: Indices
    nothing_left: Indices
    lost_tokens: int
    trained_tokens: int


def usable_rows(stores: tuple[TokenStore, ...]) -> Rows:
    """All rows that are not left out, store by store."""
    numbers = [np.flatnonzero((store.rows["flags"] & np.uint32(LEFT_OUT)) == 0).astype(np.int64) for store in stores]
    which = [np.full(number.size, index, np.int64) for index, number in enumerate(numbers)]
    empty = np.empty(0, np.int64)
    return Rows(np.concatenate([*which, empty]), np.concatenate([*numbers, empty]))


def content_hashes(stores: tuple[TokenStore, ...], rows: Rows) -> npt.NDArray[np.void]:
    """One comparable value a row: equal exactly where tokens and mask are (to 128 bits)."""
    halves = np.empty((rows.count, 2), np.uint64)
    for index, store in enumerate(stores):
        here = rows.store == index
        halves[here] = store.rows["hash"][rows.number[here]]
    return np.ascontiguousarray(halves).view(np.dtype((np.void, 16))).reshape(-1)


def weighted(rows: Rows, weights: tuple[float, ...], seed: int) -> Rows:
    """Each source taken `weight` times: whole rounds, and of the rest a share chosen by the seed."""
    if all(weight == 1.0 for weight in weights):
        return rows
    chosen = []
    for index, weight in enumerate(weights):
        here = np.flatnonzero(rows.store == index)
        rounds, share = int(weight), weight - int(weight)
        part = permutation(here.size, seed, Purpose.MIX, index)[: round(share * here.size)]
        chosen.append(np.concatenate([np.tile(here, rounds), here[np.sort(part)]]))
    return rows.take(np.concatenate([*chosen, np.empty(0, np.int64)]).astype(np.int64))


def cut(stores: tuple[TokenStore, ...], rows: Rows, sequence_length: int) -> Cut:
    """Rows as documents: text goes on in the next document, anything else ends at `sequence_length`."""
    starts, lengths, trained = _measures(stores, rows)
    splittable = (
        np.array([store.meta.splittable for store in stores], bool)[rows.store] if rows.count else np.zeros(0, bool)
    )
    long = lengths > sequence_length
    truncated = np.flatnonzero(long & ~splittable)
    kept = np.minimum(lengths, np.where(splittable, lengths, sequence_length))
    for row in truncated:
        store = stores[int(rows.store[row])]
        first = int(starts[row])
        trained[row] = store.mask[first + 1 : first + sequence_length].sum(dtype=np.int64)
    nothing = truncated[trained[truncated] == 0]
    kept[nothing] = 0
    pieces = np.maximum(1, -(-kept // sequence_length))
    owner = np.repeat(np.arange(rows.count), pieces)
    piece = np.arange(owner.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = starts[owner] + piece * sequence_length
    length = np.minimum(sequence_length, kept[owner] - piece * sequence_length)
    real = length >= 2
    documents = Documents(stores, rows.store[owner][real], start[real], length[real])
    lost = int(lengths.sum() - nothing_lengths(lengths, nothing) - documents.length.sum())
    return Cut(
        documents,
        rows.count - nothing.size,
        truncated,
        nothing,
        lost,
        _trained(stores, documents, owner[real], trained, pieces),
    )


def nothing_lengths(lengths: Indices, nothing: Indices) -> int:
    """Tokens of the rows of which nothing is left: they count as left out, not as cut."""
    return int(lengths[nothing].sum())


def _measures(stores: tuple[TokenStore, ...], rows: Rows) -> tuple[Indices, Indices, Indices]:
    """(first token, length, learned tokens) of each row."""
    starts, lengths, trained = (np.zeros(rows.count, np.int64) for _ in range(3))
    for index, store in enumerate(stores):
        here = rows.store == index
        number = rows.number[here]
        starts[here], lengths[here] = store.starts[number], store.lengths[number]
        trained[here] = store.rows["trained"][number]
    return starts, lengths, trained


def _trained(
    stores: tuple[TokenStore, ...], documents: Documents, owner: Indices, trained: Indices, pieces: Indices
) -> int:
    """Learned predictions: those of whole rows are known; the pieces of a split row each lose their first token."""
    split = pieces[owner] > 1
    total = int(trained[owner[~split]].sum())
    for document in np.flatnonzero(split):
        total += int(documents.tokens(int(document))[1][1:].sum())
    return total
