"""Micro-batches into the executor's input tensors, by their number over all epochs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.data.batches import Batches, MicroBatch
from engine.graph.persistent import DOCUMENTS, IDS, LOSS_WEIGHTS, POSITIONS, TARGETS
from engine.training.executor import Executor


@dataclass(frozen=True)
class MicroBatches:
    """`total` micro-batches of `batches`, epoch after epoch. Number k is always the same: that is all of a resume."""

    batches: Batches
    total: int

    def upload(self, executor: Executor, number: int) -> MicroBatch:
        """Write micro-batch `number` (from 0) into the executor's inputs, and return it."""
        batch = self.batches.number(number)
        executor.write(IDS, batch.ids)
        executor.write(TARGETS, batch.targets)
        executor.write(LOSS_WEIGHTS, batch.loss_weights)
        executor.write(POSITIONS, batch.positions)
        executor.write(DOCUMENTS, batch.documents)
        return batch


def training_micro_batches(batches: Batches, *, epochs: float, total_steps: int, accumulation: int) -> MicroBatches:
    """Those of a whole run: `epochs` over the data, or what `total_steps` steps can take."""
    wanted = math.ceil(round(len(batches) * epochs, 9))
    return MicroBatches(batches, min(wanted, total_steps * accumulation))
