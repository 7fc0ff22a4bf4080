"""Micro-batches as the engine takes them: flat arrays of one shape, each a function of (epoch, index) alone.

Nothing is carried from one micro-batch to the next, so training resumed at any position sees the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.data.documents import Documents
from engine.data.packing import Blocks
from engine.data.permutation import Purpose, permutation

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class MicroBatch:
    """N = B·T tokens, B rows after one another.

    ids, targets, positions i32[N]; loss_weights f32[N], the weight of predicting `targets` (0 at a document's last
    token, on padding and on tokens that are not learned; the target is 0 where there is none). documents i32[M + 1],
    M = B·(max_documents + 1): cumulative offsets that end at N. The last stretch of each row is its padding; stretches
    that are not used are empty. Positions start from 0 in every stretch. `tokens` counts real ones, `weight` sums
    loss_weights.
    """

    ids: Ints
    targets: Ints
    loss_weights: Floats
    positions: Ints
    documents: Ints
    tokens: int
    weight: float


class Batches:
    """The micro-batches of one side of the split.

    Shapes are fixed: `micro_batch_size` rows of `sequence_length` tokens with at most `max_documents` documents each.
    Training shuffles the blocks anew each epoch; evaluation (`shuffled` false) keeps them in order.
    """

    def __init__(
        self,
        documents: Documents,
        blocks: Blocks,
        *,
        sequence_length: int,
        micro_batch_size: int,
        max_documents: int,
        padding_id: int,
        seed: int,
        shuffled: bool,
    ) -> None:
        self.sequence_length = sequence_length
        self.micro_batch_size = micro_batch_size
        self.max_documents = max_documents
        self.blocks = blocks.count
        self._documents = documents
        self._blocks = blocks
        self._padding_id = padding_id
        self._seed = seed
        self._shuffled = shuffled
        self._order_of: tuple[int, npt.NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        """Micro-batches in an epoch; the last is filled up with padding."""
        return -(-self.blocks // self.micro_batch_size)

    @property
    def document_slots(self) -> int:
        """M: stretches in a micro-batch; its `documents` array has one entry more."""
        return self.micro_batch_size * (self.max_documents + 1)

    def number(self, position: int) -> MicroBatch:
        """The micro-batch at a position counted over all epochs. Raises IndexError without data."""
        if not len(self):
            raise IndexError("There are no micro-batches.")
        return self.at(*divmod(position, len(self)))

    def at(self, epoch: int, index: int) -> MicroBatch:
        """Micro-batch number `index` of an epoch, both from 0. Raises IndexError beyond the epoch's end."""
        if not 0 <= index < len(self):
            raise IndexError(f"Micro-batch {index} of {len(self)}.")
        order = self._order(epoch)
        first = index * self.micro_batch_size
        chosen = order[first : first + self.micro_batch_size]
        batch = self._empty()
        for row, block in enumerate(chosen.tolist()):
            self._fill(batch, row, block)
        tokens = sum(int(self._documents.length[self._members(block)].sum()) for block in chosen.tolist())
        return MicroBatch(
            batch.ids,
            batch.targets,
            batch.loss_weights,
            batch.positions,
            batch.documents,
            tokens,
            float(batch.loss_weights.sum(dtype=np.float64)),
        )

    def _order(self, epoch: int) -> npt.NDArray[np.int64]:
        if not self._shuffled:
            return np.arange(self.blocks, dtype=np.int64)
        if self._order_of is None or self._order_of[0] != epoch:
            self._order_of = (epoch, permutation(self.blocks, self._seed, Purpose.EPOCH, epoch))
        return self._order_of[1]

    def _members(self, block: int) -> npt.NDArray[np.int64]:
        return self._blocks.documents[self._blocks.starts[block] : self._blocks.starts[block + 1]]

    def _empty(self) -> MicroBatch:
        """All padding: each row one stretch, its last."""
        rows, length, slots = self.micro_batch_size, self.sequence_length, self.max_documents + 1
        documents = np.zeros(rows * slots + 1, np.int32)
        documents[1:] = np.repeat(np.arange(rows, dtype=np.int32) * length, slots)
        documents[slots::slots] = np.arange(1, rows + 1, dtype=np.int32) * length
        return MicroBatch(
            np.full(rows * length, self._padding_id, np.int32),
            np.zeros(rows * length, np.int32),
            np.zeros(rows * length, np.float32),
            np.tile(np.arange(length, dtype=np.int32), rows),
            documents,
            0,
            0.0,
        )

    def _fill(self, batch: MicroBatch, row: int, block: int) -> None:
        begin = row * self.sequence_length
        slot = row * (self.max_documents + 1)
        for document in self._members(block).tolist():
            ids, mask = self._documents.tokens(document)
            end = begin + ids.size
            batch.ids[begin:end] = ids
            batch.targets[begin : end - 1] = ids[1:]
            batch.loss_weights[begin : end - 1] = mask[1:]
            batch.positions[begin:end] = np.arange(ids.size)
            slot += 1
            batch.documents[slot] = end
            begin = end
        row_end = (row + 1) * self.sequence_length
        batch.documents[slot + 1 : (row + 1) * (self.max_documents + 1)] = begin
        batch.positions[begin:row_end] = np.arange(row_end - begin)
