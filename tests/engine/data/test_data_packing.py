"""Packing and micro-batches: nothing lost, nothing doubled, and every position of every epoch the same twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.data.batches import Batches, MicroBatch
from engine.data.documents import Documents, Rows, cut
from engine.data.packing import OPEN_BLOCKS, one_each, pack
from engine.data.permutation import Purpose, permutation
from engine.data.store import StoreWriter, TokenStore

T = 32
PADDING = 7
GOLDEN_ORDER = [0, 7, 3, 6, 4, 5, 1, 2]
"""Written down on the day that the orders were first used: runs of that day resume by them."""


@given(st.lists(st.integers(2, T), max_size=400))
def test_every_document_stands_in_exactly_one_block_that_it_fits(lengths: list[int]) -> None:
    blocks = pack(np.array(lengths, np.int64), T)
    assert sorted(blocks.documents.tolist()) == list(range(len(lengths)))
    for block in range(blocks.count):
        members = blocks.documents[blocks.starts[block] : blocks.starts[block + 1]]
        assert members.size > 0 and sum(lengths[member] for member in members) <= T
    # No two blocks that were ever open together could have been one.
    if blocks.count <= OPEN_BLOCKS:
        used = [
            sum(lengths[m] for m in blocks.documents[a:b])
            for a, b in zip(blocks.starts, blocks.starts[1:], strict=False)
        ]
        assert sum(size <= T // 2 for size in used) <= 1


def test_packing_fills_blocks() -> None:
    lengths = permutation(2_000, 1, Purpose.DOCUMENTS) % 25 + 2
    blocks = pack(lengths, 64)
    assert lengths.sum() / (blocks.count * 64) > 0.97


def make_store(folder: Path, rows: list[tuple[list[int], list[int]]], *, splittable: bool = False) -> TokenStore:
    with StoreWriter(folder) as writer:
        for number, (ids, mask) in enumerate(rows, start=1):
            writer.add("x.jsonl", number, 0, np.array(ids, np.int32), np.array(mask, np.uint8))
        return writer.finish({}, "text" if splittable else "messages", splittable=splittable)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    stream = np.random.Philox(key=3).random_raw(100_000)
    rows, at = [], 0
    for length in (stream[:150] % (T - 2) + 2).tolist():
        ids = (10 + stream[at : at + length] % 1_000).tolist()
        mask = [int(value % 3 > 0) for value in stream[at + 1 : at + 1 + length]]
        mask[-1] = 1
        rows.append((ids, mask))
        at += length
    return make_store(tmp_path_factory.mktemp("stores") / "store", rows)


def documents_of(store: TokenStore) -> Documents:
    count = store.rows.size
    return Documents((store,), np.zeros(count, np.int64), store.starts, store.lengths)


def batches_of(store: TokenStore, *, rows: int, packed: bool = True, shuffled: bool = True, seed: int = 5) -> Batches:
    documents = documents_of(store)
    blocks = pack(documents.length, T) if packed else one_each(documents.count)
    return Batches(
        documents, blocks, sequence_length=T, micro_batch_size=rows, max_documents=blocks.largest, padding_id=PADDING,
        seed=seed, shuffled=shuffled,
    )  # fmt: skip


def stretches(batch: MicroBatch, slots: int) -> list[tuple[int, int, bool]]:
    """(begin, end, padding) of each stretch that is not empty."""
    found = []
    for number, (begin, end) in enumerate(zip(batch.documents, batch.documents[1:], strict=False)):
        if end > begin:
            found.append((int(begin), int(end), number % slots == slots - 1))
    return found


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("packed", [True, False])
def test_an_epoch_holds_every_token_once_and_every_weight(store: TokenStore, rows: int, packed: bool) -> None:
    batches = batches_of(store, rows=rows, packed=packed)
    slots = batches.max_documents + 1
    seen = []
    for index in range(len(batches)):
        batch = batches.at(0, index)
        assert batch.documents.shape == (batches.document_slots + 1,)
        assert batch.documents[0] == 0 and batch.documents[-1] == rows * T and (np.diff(batch.documents) >= 0).all()
        assert batch.documents[::slots].tolist() == list(range(0, rows * T + 1, T))
        for begin, end, padding in stretches(batch, slots):
            assert batch.positions[begin:end].tolist() == list(range(end - begin))
            assert batch.loss_weights[end - 1] == 0 and batch.targets[end - 1] == 0
            if padding:
                assert (batch.ids[begin:end] == PADDING).all() and not batch.loss_weights[begin:end].any()
                continue
            assert batch.targets[begin : end - 1].tolist() == batch.ids[begin + 1 : end].tolist()
            seen.append((tuple(batch.ids[begin:end].tolist()), tuple(batch.loss_weights[begin : end - 1].tolist())))
        assert batch.weight == batch.loss_weights.sum()
        assert batch.tokens == sum(end - begin for begin, end, padding in stretches(batch, slots) if not padding)
    documents = documents_of(store)
    expected = []
    for number in range(documents.count):
        ids, mask = documents.tokens(number)
        expected.append((tuple(ids.tolist()), tuple(mask[1:].astype(float).tolist())))
    assert sorted(seen) == sorted(expected)


def test_any_position_is_the_same_wherever_one_starts(store: TokenStore) -> None:
    def frozen(batch: MicroBatch) -> tuple[bytes, ...]:
        arrays = (batch.ids, batch.targets, batch.loss_weights, batch.positions, batch.documents)
        return tuple(array.tobytes() for array in arrays)

    straight = batches_of(store, rows=2)
    positions = range(2 * len(straight) + 3)
    expected = [frozen(straight.number(position)) for position in positions]
    for position in reversed(positions):
        assert frozen(batches_of(store, rows=2).number(position)) == expected[position]
    epoch = len(straight)
    assert expected[:epoch] != expected[epoch : 2 * epoch]
    assert expected != [frozen(batches_of(store, rows=2, seed=6).number(position)) for position in positions]


def test_evaluation_keeps_its_order(store: TokenStore) -> None:
    batches = batches_of(store, rows=2, shuffled=False)
    assert batches.at(0, 1).ids.tobytes() == batches.at(9, 1).ids.tobytes()
    with pytest.raises(IndexError):
        batches.at(0, len(batches))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(2, 5 * T), min_size=1, max_size=30), st.booleans(), st.data())
def test_cutting_counts_what_it_loses(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], splittable: bool, data: st.DataObject
) -> None:
    rows = []
    for length in lengths:
        learn_from = data.draw(st.integers(0, length - 2))
        rows.append((list(range(length)), [0] * (learn_from + 1) + [1] * (length - learn_from - 1)))
    store = make_store(tmp_path_factory.mktemp("cut") / "store", rows, splittable=splittable)
    all_rows = Rows(np.zeros(len(rows), np.int64), np.arange(len(rows), dtype=np.int64))
    part = cut((store,), all_rows, T)
    assert part.documents.count == 0 or (part.documents.length.min() >= 2 and part.documents.length.max() <= T)
    masks = [part.documents.tokens(number)[1] for number in range(part.documents.count)]
    assert part.trained_tokens == sum(int(mask[1:].sum()) for mask in masks)
    left_out = sum(lengths[row] for row in part.nothing_left)
    assert int(part.documents.length.sum()) + part.lost_tokens + left_out == sum(lengths)
    if splittable:
        assert part.truncated.size == 0 and part.lost_tokens == sum(length % T == 1 for length in lengths)
    else:
        assert part.truncated.tolist() == [row for row, length in enumerate(lengths) if length > T]
        assert part.documents.count == len(rows) - part.nothing_left.size


def test_orders_are_known_for_ever() -> None:
    assert permutation(8, 42, Purpose.EPOCH, 0).tolist() == GOLDEN_ORDER
    assert permutation(8, 42, Purpose.EPOCH, 1).tolist() != GOLDEN_ORDER
    assert permutation(8, 42, Purpose.SPLIT, 0).tolist() != GOLDEN_ORDER
