"""RMSNorm over the last axis (Zhang & Sennrich 2019): y = x · rstd · weight, rstd = (mean(x²) + eps)^(−1/2).

x is [N, D], or [N, H, HD] where q and k are normalised per head; rstd has one float32 for each row.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from engine.runtime.reference.operands import Call, Operands, rows, wide


def normalised(x32: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """x32[rows, width] in the calculating dtype → y likewise, rstd[rows, 1]"""
    square = torch.linalg.vector_norm(x32, dim=1, keepdim=True).square_()
    scale = square.div_(x32.shape[1]).add_(eps).rsqrt_()
    return torch.mul(x32, scale).mul_(wide(weight)), scale


def input_gradient(dy: torch.Tensor, x32: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """dx = rstd · (g − x · rstd² · mean(g · x)) with g = dy · weight; all [rows, width], scale = rstd[rows, 1]"""
    g = wide(dy) * wide(weight)
    mean = torch.mul(g, x32).sum(1, keepdim=True).div_(x32.shape[1])
    return g.addcmul_(x32, mean.mul_(scale).mul_(scale), value=-1).mul_(scale)


def rms_norm(o: Operands) -> Call:
    (x, weight), (y, rstd) = o.inputs, o.outputs
    eps, column = o.number("eps"), rstd.view(-1, 1)
    x, y = rows(x), rows(y)

    def call() -> None:
        normed, scale = normalised(wide(x), weight, eps)
        column.copy_(scale)
        y.copy_(normed)

    return call


def add_rms_norm(o: Operands) -> Call:
    """total = x + residual, then y and rstd of the total as it was stored."""
    (x, residual, weight), (total, y, rstd) = o.inputs, o.outputs
    norm = rms_norm(replace(o, inputs=(total, weight), outputs=(y, rstd)))

    def call() -> None:
        total.copy_(wide(x) + wide(residual))
        norm()

    return call


def rms_norm_backward(o: Operands) -> Call:
    (dy, x, weight, rstd), (dx,) = o.inputs, o.outputs
    scale = rstd.view(-1, 1)
    dy, x, dx = rows(dy), rows(x), rows(dx)
    return lambda: dx.copy_(input_gradient(dy, wide(x), weight, scale))


def rms_norm_weight_backward(o: Operands) -> Call:
    """dweight = Σ over rows of dy · x · rstd"""
    (dy, x, rstd), (dweight,) = o.inputs, o.outputs
    scale = rstd.view(-1, 1)
    dy, x = rows(dy), rows(x)
    return lambda: dweight.copy_(torch.mul(wide(x), scale).mul_(wide(dy)).sum(0))


def rms_norm_residual_backward(o: Operands) -> Call:
    """dx = dresidual + the gradient of the norm's input, rounded once"""
    (dy, x, weight, rstd, dresidual), dx = o.inputs, o.outputs[0]
    scale = rstd.view(-1, 1)
    dy, x, dresidual, dx = rows(dy), rows(x), rows(dresidual), rows(dx)
    return lambda: dx.copy_(input_gradient(dy, wide(x), weight, scale).add_(wide(dresidual)))


def rms_norm_residual_weight_backward(o: Operands) -> Call:
    (dy, x, _, rstd, _), (_, dweight) = o.inputs, o.outputs
    of_input = rms_norm_residual_backward(o)
    of_weight = rms_norm_weight_backward(replace(o, inputs=(dy, x, rstd), outputs=(dweight,)))

    def call() -> None:
        of_input()
        of_weight()

    return call
