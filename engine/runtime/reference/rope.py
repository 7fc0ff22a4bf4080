"""Rotary position embedding (Su et al. 2021) in Hugging Face's half-split layout.

    (y₁, y₂) = scaling · (x₁ cos θ − x₂ sin θ, x₂ cos θ + x₁ sin θ),   θ = position · inverse_frequency

x₁ and x₂ are the two halves of a head. `inverse` turns the other way, which is the transpose and so the backward.
Angles are formed in float32, as transformers does.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from engine.runtime.reference.operands import WIDE, Call, Operands, wide


def turn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor) -> None:
    """y = x turned; x, y [N, h, HD], and y may be x; cos, sin [N, HD / 2] in the calculating dtype."""
    x32, half = wide(x), cos.shape[-1]
    cos, sin = cos[:, None, :], sin[:, None, :]
    x1, x2 = x32[..., :half], x32[..., half:]
    first = torch.mul(x1, cos).addcmul_(x2, sin, value=-1)
    second = torch.mul(x2, cos).addcmul_(x1, sin)
    y[..., :half] = first
    y[..., half:] = second


def angles_of(o: Operands, positions: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Makes positions · inverse_frequencies, f32[N, HD / 2]."""
    frequencies = torch.tensor(o.numbers("inverse_frequencies"), dtype=torch.float32, device=positions.device)
    return lambda: positions.to(torch.float32)[:, None] * frequencies


def rope(o: Operands) -> Call:
    """x[N, h, HD], positions i32[N] → y[N, h, HD]"""
    (x, positions), (y,) = o.inputs, o.outputs
    scaling, sign = o.number("attention_scaling"), -1.0 if o.flag("inverse") else 1.0
    dtype, angles = x.dtype if x.dtype in WIDE else torch.float32, angles_of(o, positions)

    def call() -> None:
        angle = angles()
        turn(x, angle.cos().to(dtype).mul_(scaling), angle.sin().to(dtype).mul_(scaling * sign), y)

    return call


def rope_table(o: Operands) -> Call:
    """positions i32[N] → table f32[N, HD / 2, 2]"""
    (positions,), (table,) = o.inputs, o.outputs
    scaling, angles = o.number("attention_scaling"), angles_of(o, positions)

    def call() -> None:
        angle = angles()
        table[..., 0] = angle.cos().mul_(scaling)
        table[..., 1] = angle.sin().mul_(scaling)

    return call
