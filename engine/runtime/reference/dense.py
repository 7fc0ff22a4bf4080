"""Matrix products and biases. x[N, I], weight[O, I] (Hugging Face's layout), y[N, O]; dy stands for ∂loss/∂y."""

from __future__ import annotations

from functools import partial

import torch

from engine.runtime.reference.operands import Call, Operands, all_wide, wide


def _product(left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> Call:
    if all_wide(left, right, out):
        return partial(torch.mm, left, right, out=out)
    return lambda: out.copy_(torch.mm(wide(left), wide(right)))


def linear(o: Operands) -> Call:
    """y = x · weightᵀ"""
    (x, weight), (y,) = o.inputs, o.outputs
    return _product(x, weight.t(), y)


def linear_input_backward(o: Operands) -> Call:
    """dx = dy · weight"""
    (dy, weight), (dx,) = o.inputs, o.outputs
    return _product(dy, weight, dx)


def linear_weight_backward(o: Operands) -> Call:
    """dweight = dyᵀ · x"""
    (dy, x), (dweight,) = o.inputs, o.outputs
    return _product(dy.t(), x, dweight)


def bias_add(o: Operands) -> Call:
    (x, bias), (y,) = o.inputs, o.outputs
    if all_wide(x, bias, y):
        return partial(torch.add, x, bias, out=y)
    return lambda: y.copy_(wide(x) + wide(bias))


def bias_backward(o: Operands) -> Call:
    """dbias = Σ over tokens of dy"""
    (dy,), (dbias,) = o.inputs, o.outputs
    if all_wide(dy, dbias):
        return partial(torch.sum, dy, 0, out=dbias)
    return lambda: dbias.copy_(wide(dy).sum(0))
