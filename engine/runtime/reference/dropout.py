"""Dropout whose mask is a pure function of (seed, purpose, step, micro_batch, layer, element): see `philox`.

Its backward is the same op on dy, and recomputing it in another program gives the same mask.
"""

from __future__ import annotations

import torch

from engine.runtime.philox import MASK, PIECE, Stream, drop_threshold, random_words, random_words_torch
from engine.runtime.reference.operands import Call, Operands, wide


def dropout(o: Operands) -> Call:
    """x, step_state i64[4] = (seed, step, micro_batch, 0) → y = x · kept / (1 − probability)"""
    (x, step_state), (y,) = o.inputs, o.outputs
    probability, purpose, layer = o.number("probability"), o.integer("purpose"), o.integer("layer")
    threshold, factor = drop_threshold(probability), 1.0 / (1.0 - probability)
    x, y = x.view(-1), y.view(-1)

    def call() -> None:
        seed, step, micro_batch, _ = step_state.tolist()
        stream = Stream(seed & (MASK << 32 | MASK), purpose, step, micro_batch, layer)
        for start in range(0, x.numel(), PIECE):
            piece = x[start : start + PIECE]
            kept = _kept(stream, piece.numel(), start, threshold, x.device)
            y[start : start + PIECE] = torch.where(kept, wide(piece) * factor, 0.0)

    return call


def _kept(stream: Stream, count: int, start: int, threshold: int, device: torch.device) -> torch.Tensor:
    """bool[count]. NumPy has arithmetic on unsigned integers: on a CPU it takes half the time of torch."""
    if device.type == "cpu":
        return torch.from_numpy(random_words(stream, count, start) >= threshold)
    return random_words_torch(stream, count, start, device) >= threshold
