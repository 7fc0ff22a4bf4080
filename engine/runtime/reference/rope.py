"""Rotary position embedding (Su et al. 2021) in Hugging Face's half-split layout.

    (y₁, y₂) = scaling · (x₁ cos θ − x₂ sin θ, x₂ cos θ + x₁ sin θ),   θ = position · inverse_frequency

x₁ and x₂ are the two halves of a head. `inverse` turns the other way, which is the transpose and so the backward.
Angles are formed in float32, as transformers does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from engine.runtime.reference.operands import WIDE, Call, Operands, wide


@dataclass(frozen=True)
class Rotation:
    """frequencies f32[HD / 2]; `sign` −1 turns back."""

    frequencies: torch.Tensor
    scaling: float
    sign: float

    def turn(self, x: torch.Tensor, positions: torch.Tensor, y: torch.Tensor) -> None:
        """y = x turned; both [N, h, HD], and y may be x."""
        dtype, half = x.dtype if x.dtype in WIDE else torch.float32, len(self.frequencies)
        angle = positions.to(torch.float32)[:, None] * self.frequencies
        cos = angle.cos().to(dtype).mul_(self.scaling)[:, None, :]
        sin = angle.sin().to(dtype).mul_(self.scaling * self.sign)[:, None, :]
        x32 = wide(x)
        x1, x2 = x32[..., :half], x32[..., half:]
        first = torch.mul(x1, cos).addcmul_(x2, sin, value=-1)
        second = torch.mul(x2, cos).addcmul_(x1, sin)
        y[..., :half] = first
        y[..., half:] = second


def rotation_of(o: Operands, inverse: bool) -> Rotation:
    """The rotation that an instruction's attributes describe."""
    frequencies = torch.tensor(o.numbers("inverse_frequencies"), dtype=torch.float32, device=o.inputs[0].device)
    return Rotation(frequencies, o.number("attention_scaling"), -1.0 if inverse else 1.0)


def rope(o: Operands) -> Call:
    """x[N, h, HD], positions i32[N] → y[N, h, HD]"""
    (x, positions), (y,) = o.inputs, o.outputs
    rotation = rotation_of(o, o.flag("inverse"))
    return lambda: rotation.turn(x, positions, y)
