"""RMSNorm over the last axis (Zhang & Sennrich 2019): y = x · rstd · weight, rstd = (mean(x²) + eps)^(−1/2).

x is [N, D], or [N, H, HD] where q and k are normalised per head; rstd has one float32 for each row.
"""

from __future__ import annotations

import torch

from engine.runtime.reference.operands import Call, Operands, rows, wide


def rms_norm(o: Operands) -> Call:
    (x, weight), (y, rstd) = o.inputs, o.outputs
    eps, column, width = o.number("eps"), rstd.view(-1, 1), x.shape[-1]
    x, y = rows(x), rows(y)

    def call() -> None:
        x32 = wide(x)
        square = torch.linalg.vector_norm(x32, dim=1, keepdim=True).square_()
        scale = square.div_(width).add_(eps).rsqrt_()
        column.copy_(scale)
        y.copy_(torch.mul(x32, scale).mul_(wide(weight)))

    return call


def rms_norm_backward(o: Operands) -> Call:
    """dx = rstd · (g − x · rstd² · mean(g · x)) with g = dy · weight."""
    (dy, x, weight, rstd), (dx,) = o.inputs, o.outputs
    scale, width = rstd.view(-1, 1), x.shape[-1]
    dy, x, dx = rows(dy), rows(x), rows(dx)

    def call() -> None:
        x32 = wide(x)
        g = wide(dy) * wide(weight)
        mean = torch.mul(g, x32).sum(1, keepdim=True).div_(width)
        dx.copy_(g.addcmul_(x32, mean.mul_(scale).mul_(scale), value=-1).mul_(scale))

    return call


def rms_norm_weight_backward(o: Operands) -> Call:
    """dweight = Σ over rows of dy · x · rstd"""
    (dy, x, rstd), (dweight,) = o.inputs, o.outputs
    scale = rstd.view(-1, 1)
    dy, x = rows(dy), rows(x)
    return lambda: dweight.copy_(torch.mul(wide(x), scale).mul_(wide(dy)).sum(0))
