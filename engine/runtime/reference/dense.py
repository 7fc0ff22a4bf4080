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


def linear_input_backward_add(o: Operands) -> Call:
    """dx += dy · weight"""
    dx, dy, weight = o.inputs
    return lambda: _add(dx, torch.mm(wide(dy), wide(weight)))


def linear_segments(o: Operands) -> Call:
    """y[:, segment] += factor · x[:, segment] · weight[segment]ᵀ"""
    (y, x, weight), factor = o.inputs, o.number("factor")
    segments = [(y[:, a:b], x[:, c], weight[d].t()) for a, b, c, d in _segments(o)]

    def call() -> None:
        for part, low, up in segments:
            _add(part, torch.mm(wide(low), wide(up)).mul_(factor))

    return call


def linear_segments_input_backward(o: Operands) -> Call:
    """dx[:, segment] = factor · dy[:, segment] · weight[segment]"""
    (dy, weight), (dx,), factor = o.inputs, o.outputs, o.number("factor")
    segments = [(dy[:, a:b], weight[d], dx[:, c]) for a, b, c, d in _segments(o)]

    def call() -> None:
        for part, up, out in segments:
            out.copy_(torch.mm(wide(part), wide(up)).mul_(factor))

    return call


def linear_segments_weight_backward(o: Operands) -> Call:
    """dweight[segment] = factor · dy[:, segment]ᵀ · x[:, segment]"""
    (dy, x), (dweight,), factor = o.inputs, o.outputs, o.number("factor")
    segments = [(dy[:, a:b].t(), x[:, c], dweight[d]) for a, b, c, d in _segments(o)]

    def call() -> None:
        for part, low, out in segments:
            out.copy_(torch.mm(wide(part), wide(low)).mul_(factor))

    return call


def _add(target: torch.Tensor, product: torch.Tensor) -> None:
    if all_wide(target, product):
        target.add_(product)
    else:
        target.copy_(product.add_(target))


def _segments(o: Operands) -> list[tuple[int, int, slice, slice]]:
    """(first column, end of columns) of the packed tensor, columns of x, rows of the weight, for each segment."""
    rank, row, found = o.integer("rank"), 0, []
    for number, (start, width) in enumerate(zip(o.integers("starts"), o.integers("widths"), strict=True)):
        columns = slice(number * rank, (number + 1) * rank)
        found.append((start, start + width, columns, slice(row, row + width)))
        row += width
    return found
