"""Orders fixed by the seed: Philox numbers, sorted. The same on every machine and under every version of numpy.

numpy promises the raw stream of a bit generator but not what `Generator.permutation` makes of it, so only raw numbers
are used.
"""

from __future__ import annotations

import enum

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


class Purpose(enum.IntEnum):
    """What an order is for; each purpose has a stream of its own, so that none disturbs another."""

    SPLIT = 1
    DOCUMENTS = 2
    EPOCH = 3
    MIX = 4


def permutation(count: int, seed: int, purpose: Purpose, number: int = 0) -> Indices:
    """The numbers 0 … count - 1 in an order given by seed, purpose and `number` (an epoch, a source)."""
    stream = np.random.Philox(key=np.array([seed, int(purpose) << 32 | number], np.uint64))
    return np.argsort(stream.random_raw(count), kind="stable").astype(np.int64)
