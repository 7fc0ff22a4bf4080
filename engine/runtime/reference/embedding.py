"""Rows of a table by token id, and the table's gradient. ids i32[N], weight[V, D], x[N, D]."""

from __future__ import annotations

from functools import partial

import torch

from engine.runtime.reference.operands import Call, Operands, wide


def embedding(o: Operands) -> Call:
    (ids, weight), (x,) = o.inputs, o.outputs
    return partial(torch.index_select, weight, 0, ids, out=x)


def select_row(o: Operands) -> Call:
    """y[0] = x[row[0]]"""
    (x, row), (y,) = o.inputs, o.outputs
    return partial(torch.index_select, x, 0, row, out=y)


def embedding_backward(o: Operands) -> Call:
    """dweight[id] = Σ of dy over the tokens with that id, added in token order; dweight is in the calculating dtype."""
    (ids, dy), (dweight,) = o.inputs, o.outputs
    return lambda: dweight.zero_().index_add_(0, ids, wide(dy))
