"""Philox 4×32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), in NumPy and in torch.

A random number is a pure function of what it is for, never of when or where it was drawn:

    key      = (seed low 32, seed high 32)
    counter  = (element // 4, step, micro_batch, purpose · 2¹⁶ + layer)
    word     = output[element % 4]

so every placement, launch shape and replay sees the same numbers, and a CUDA kernel has only these four lines to copy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from engine.protocol.errors import Bug

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
MASK = 0xFFFFFFFF
WORDS = 4
# Elements drawn at a time, a multiple of WORDS: temporaries take some ten bytes an element.
PIECE = 1 << 20


@dataclass(frozen=True)
class Stream:
    """What random numbers are for. `purpose` and `layer` are below 2¹⁶, `step` and `micro_batch` below 2³²."""

    seed: int
    purpose: int
    step: int = 0
    micro_batch: int = 0
    layer: int = 0

    def __post_init__(self) -> None:
        limits = {"seed": 64, "purpose": 16, "step": 32, "micro_batch": 32, "layer": 16}
        for name, bits in limits.items():
            if not 0 <= getattr(self, name) < 1 << bits:
                raise Bug(
                    "philox_key_range",
                    f"The random stream's {name} is {getattr(self, name)}, which does not fit into {bits} bits.",
                    "This is a fault of the engine; please report it with the recipe.",
                )

    @property
    def key(self) -> tuple[int, int]:
        return self.seed & MASK, self.seed >> 32

    @property
    def counter_tail(self) -> tuple[int, int, int]:
        """Words 1 to 3 of the counter; word 0 counts blocks of four elements."""
        return self.step, self.micro_batch, self.purpose << 16 | self.layer


def philox_block(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """One block in plain integers: the definition, which the vectorised forms are tested against."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return c0, c1, c2, c3


def random_words(stream: Stream, count: int, start: int = 0) -> NDArray[np.uint32]:
    """The 32-bit words of elements start … start + count − 1, as uint32[count].

    In place throughout: the four words of the counter change roles from round to round instead of being copied.
    """
    _check_range(start + count)
    first, last = start // WORDS, -(-(start + count) // WORDS)
    c0 = np.arange(first, last, dtype=np.uint64)
    c1, c2, c3 = (np.full_like(c0, word) for word in stream.counter_tail)
    high = np.empty_like(c0)
    m0, m1, shift, mask = (np.uint64(constant) for constant in (*MULTIPLIERS, 32, MASK))
    k0, k1 = stream.key
    for _ in range(ROUNDS):
        c0 *= m0
        c2 *= m1
        c1 ^= np.right_shift(c2, shift, out=high)
        c1 ^= np.uint64(k0)
        c3 ^= np.right_shift(c0, shift, out=high)
        c3 ^= np.uint64(k1)
        c0 &= mask
        c2 &= mask
        c0, c1, c2, c3 = c1, c2, c3, c0
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    words = np.empty((last - first, WORDS), dtype=np.uint32)
    for column, word in enumerate((c0, c1, c2, c3)):
        words[:, column] = word
    return words.reshape(-1)[start - first * WORDS :][:count]


def random_words_torch(stream: Stream, count: int, start: int, device: torch.device) -> torch.Tensor:
    """The same words as int64[count] (torch has no arithmetic on uint32); `start` must be a multiple of four.

    int64 products wrap modulo 2⁶⁴ and the arithmetic shift's sign bits are masked away: the bits are those of uint64.
    """
    _check_range(start + count)
    first, last = start // WORDS, -(-(start + count) // WORDS)
    c0 = torch.arange(first, last, dtype=torch.int64, device=device)
    c1, c2, c3 = (torch.full_like(c0, word) for word in stream.counter_tail)
    k0, k1 = stream.key
    for _ in range(ROUNDS):
        p0, p1 = c0.mul_(MULTIPLIERS[0]), c2.mul_(MULTIPLIERS[1])
        low0, low1 = p0 & MASK, p1 & MASK
        c0 = p1.bitwise_right_shift_(32).bitwise_and_(MASK).bitwise_xor_(c1).bitwise_xor_(k0)
        c2 = p0.bitwise_right_shift_(32).bitwise_and_(MASK).bitwise_xor_(c3).bitwise_xor_(k1)
        c1, c3 = low1, low0
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return torch.stack((c0, c1, c2, c3), dim=1).view(-1)[:count]


def drop_threshold(probability: float) -> int:
    """An element is dropped when its word is below this: the probability in units of 2⁻³², rounded once, here."""
    return round(probability * 2**32)


def uniform(stream: Stream, count: int, start: int = 0) -> NDArray[np.float32]:
    """float32[count] in the half-open interval [0, 1): the upper 24 bits of each word, all exactly representable."""
    return ((random_words(stream, count, start) >> np.uint32(8)).astype(np.float32)) * np.float32(2**-24)


def normal(stream: Stream, count: int) -> NDArray[np.float32]:
    """float32[count] from the standard normal distribution, by Box and Muller over words 2i and 2i + 1, in float64."""
    words = random_words(stream, count + count % 2).astype(np.float64).reshape(-1, 2)
    radius = np.sqrt(-2.0 * np.log((words[:, 0] + 1.0) * 2.0**-32))
    angle = 2.0 * np.pi * 2.0**-32 * words[:, 1]
    pairs = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
    return pairs.reshape(-1)[:count].astype(np.float32)


def _check_range(last: int) -> None:
    if last > WORDS << 32:
        raise Bug(
            "philox_element_range",
            f"A tensor of {last:,} elements is larger than one random stream can number (2³⁴ elements).",
            "Use a smaller micro_batch_size or sequence_length.",
        )
