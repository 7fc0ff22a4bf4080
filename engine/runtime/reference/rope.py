"""Rotary position embedding (Su et al. 2021) in Hugging Face's half-split layout.

    (y₁, y₂) = scaling · (x₁ cos θ − x₂ sin θ, x₂ cos θ + x₁ sin θ),   θ = position · inverse_frequency

x₁ and x₂ are the two halves of a head. `inverse` turns the other way, which is the transpose and so the backward.
Angles are formed in float32, as transformers does.
"""

from __future__ import annotations

import torch

from engine.runtime.reference.operands import WIDE, Call, Operands, wide


def rope(o: Operands) -> Call:
    """x[N, h, HD], positions i32[N] → y[N, h, HD]"""
    (x, positions), (y,) = o.inputs, o.outputs
    scaling, sign = o.number("attention_scaling"), -1.0 if o.flag("inverse") else 1.0
    dtype = x.dtype if x.dtype in WIDE else torch.float32
    frequencies = torch.tensor(o.numbers("inverse_frequencies"), dtype=torch.float32, device=x.device)
    half = len(frequencies)

    def call() -> None:
        angle = positions.to(torch.float32)[:, None] * frequencies
        cos = angle.cos().to(dtype).mul_(scaling)[:, None, :]
        sin = angle.sin().to(dtype).mul_(scaling * sign)[:, None, :]
        x32 = wide(x)
        x1, x2 = x32[..., :half], x32[..., half:]
        first = torch.mul(x1, cos).addcmul_(x2, sin, value=-1)
        second = torch.mul(x2, cos).addcmul_(x1, sin)
        y[..., :half] = first
        y[..., half:] = second

    return call
