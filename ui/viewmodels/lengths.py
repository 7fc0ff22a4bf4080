"""What a sequence length does to the rows, out of their histogram: no counting anew while the line is dragged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.datasets import DataStatistics, Histogram


@dataclass(frozen=True)
class Cut:
    """Rows cut and tokens lost at `limit`. `exact` where the limit lies between two bins."""

    limit: int
    rows: int
    lost_tokens: int
    all_rows: int
    all_tokens: int
    exact: bool

    @property
    def row_share(self) -> float:
        """Of all rows, 0 to 1."""
        return self.rows / self.all_rows if self.all_rows else 0.0

    @property
    def lost_share(self) -> float:
        """Of all tokens, 0 to 1."""
        return self.lost_tokens / self.all_tokens if self.all_tokens else 0.0


@dataclass(frozen=True)
class Epoch:
    """One pass over the training rows. `sequences` are packed blocks, or rows where nothing is packed."""

    tokens: int
    trained_tokens: int
    sequences: int
    steps: int
    exact: bool


def cut_at(histogram: Histogram, limit: int) -> Cut:
    """What is cut. Within a bin, rows are taken as evenly spread over its width."""
    rows, lost = 0.0, 0.0
    exact = limit % histogram.width == 0
    for index, (count, tokens) in enumerate(zip(histogram.rows, histogram.tokens, strict=True)):
        low, high = index * histogram.width, (index + 1) * histogram.width
        if low >= limit:
            rows += count
            lost += tokens - count * limit
        elif high > limit and count:
            share = (high - limit) / histogram.width
            rows += count * share
            lost += count * share * (high - limit) / 2
    return Cut(limit, round(rows), round(lost), sum(histogram.rows), sum(histogram.tokens), exact)


def percentile(histogram: Histogram, share: float) -> int:
    """The length below which `share` of the rows lie, to a bin's width; 0 without rows."""
    wanted, seen = share * sum(histogram.rows), 0
    for index, count in enumerate(histogram.rows):
        seen += count
        if count and seen >= wanted:
            return (index + 1) * histogram.width
    return 0


def epoch_at(statistics: DataStatistics, limit: int, rows_a_step: int) -> Epoch:
    """An epoch at `limit`: as counted where it was counted at that length, else reckoned from the histogram.

    `rows_a_step` is micro-batch size × gradient accumulation.
    """
    training = statistics.training
    if limit == statistics.sequence_length:
        steps = math.ceil(training.blocks / max(1, rows_a_step))
        return Epoch(training.tokens, training.trained_tokens, training.blocks, steps, exact=True)
    now, then = cut_at(statistics.histogram, statistics.sequence_length), cut_at(statistics.histogram, limit)
    kept_now, kept_then = now.all_tokens - now.lost_tokens, then.all_tokens - then.lost_tokens
    ratio = kept_then / max(1, kept_now)
    tokens = round(training.tokens * ratio)
    fill = max(0.01, statistics.packing_efficiency)
    sequences = math.ceil(tokens / (limit * fill)) if statistics.packing else training.documents
    steps = math.ceil(sequences / max(1, rows_a_step))
    return Epoch(tokens, round(training.trained_tokens * ratio), sequences, steps, exact=False)
