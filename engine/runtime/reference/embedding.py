"""Rows of a table by token id, and the table's gradient. ids i32[N], weight[V, D], x[N, D]."""

from __future__ import annotations

from functools import partial

import torch

from engine.runtime.reference.operands import Call, Operands, wide


def embedding(o: Operands) -> Call:
    (ids, weight), (x,) = o.inputs, o.outputs
    if weight.dtype == x.dtype:
        return partial(torch.index_select, weight, 0, ids, out=x)
    return lambda: x.copy_(weight.index_select(0, ids))


def embedding_backward(o: Operands) -> Call:
    """dweight[id] = Σ of dy over the tokens with that id, added in token order."""
    (ids, dy), (dweight,) = o.inputs, o.outputs
    if dweight.dtype == torch.float32:
        return lambda: dweight.zero_().index_add_(0, ids, wide(dy).to(dweight.dtype))

    def call() -> None:
        total = torch.zeros(dweight.shape, dtype=wide(dy).dtype, device=dy.device)
        dweight.copy_(total.index_add_(0, ids, wide(dy)))

    return call
