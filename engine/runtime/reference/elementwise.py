"""Sums, products, changes of dtype and the gated activation, element by element."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch

from engine.runtime.reference.operands import Call, Operands, all_wide, wide


def add(o: Operands) -> Call:
    (x, y), (z,) = o.inputs, o.outputs
    if all_wide(x, y, z):
        return partial(torch.add, x, y, out=z)
    return lambda: z.copy_(wide(x) + wide(y))


def multiply(o: Operands) -> Call:
    (x, y), (z,) = o.inputs, o.outputs
    if all_wide(x, y, z):
        return partial(torch.mul, x, y, out=z)
    return lambda: z.copy_(wide(x) * wide(y))


def scale(o: Operands) -> Call:
    (x,), (y,), factor = o.inputs, o.outputs, o.number("factor")
    if all_wide(x, y):
        return partial(torch.mul, x, factor, out=y)
    return lambda: y.copy_(wide(x) * factor)


def cast(o: Operands) -> Call:
    (x,), (y,) = o.inputs, o.outputs
    return partial(y.copy_, x)


def swiglu(o: Operands) -> Call:
    """y = silu(gate) · up (Shazeer 2020), silu(g) = g · σ(g)"""
    (gate, up), (y,) = o.inputs, o.outputs

    def call() -> None:
        g = wide(gate).contiguous()  # torch's exponential rounds otherwise where rows end: packed rows lie apart
        y.copy_(torch.sigmoid(g).mul_(g).mul_(wide(up)))

    return call


def swiglu_backward(o: Operands) -> Call:
    """dup = dy · silu(gate);  dgate = dy · up · σ · (1 + gate · (1 − σ))"""
    (dy, gate, up), (dgate, dup) = o.inputs, o.outputs

    def call() -> None:
        dy32, g = wide(dy), wide(gate).contiguous()
        sigma = torch.sigmoid(g)
        silu = torch.mul(sigma, g)
        # σ · (1 + g · (1 − σ)) = σ + silu · (1 − σ), which needs no further temporary.
        slope = torch.addcmul(silu, silu, sigma, value=-1).add_(sigma).mul_(wide(up)).mul_(dy32)
        dgate.copy_(slope)
        dup.copy_(silu.mul_(dy32))

    return call


def swiglu_packed(o: Operands) -> Call:
    """`swiglu` of gate and up side by side, gate_up[N, 2·F]"""
    return swiglu(replace(o, inputs=o.inputs[0].chunk(2, dim=1)))


def swiglu_packed_backward(o: Operands) -> Call:
    (dy, gate_up), (dgate_up,) = o.inputs, o.outputs
    return swiglu_backward(replace(o, inputs=(dy, *gate_up.chunk(2, dim=1)), outputs=dgate_up.chunk(2, dim=1)))
