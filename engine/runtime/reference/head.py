"""Final projection and cross-entropy in one op, in chunks of tokens: logits never exist whole.

    logits_n = W h_n,   nll_n = logsumexp(logits_n) − logits_n[target_n]
    loss_sum = Σ_n w_n nll_n,   weight_sum = Σ_n w_n
    dh_n = w_n · Wᵀ(softmax(logits_n) − onehot(target_n)),   dW = Σ_n w_n · (softmax(logits_n) − onehot(target_n)) h_nᵀ

h[N, D], W[V, D], targets i32[N], loss_weights f32[N]. Gradients are those of loss_sum: the step divides once, by the
weights of the whole step. Tokens of weight zero (prompts, padding) cost nothing: they are left out of the products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from engine.runtime.reference.operands import Call, Operands, softmax_in_place, wide


def _chunks(loss_weights: torch.Tensor, chunk_tokens: int) -> Iterator[torch.Tensor]:
    """Indices of the tokens that count, in order, at most `chunk_tokens` at a time."""
    counted = torch.nonzero(loss_weights).view(-1)
    for start in range(0, counted.numel(), chunk_tokens):
        yield counted[start : start + chunk_tokens]


def _logits(o: Operands) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """(hidden[n, D], table[V, D]) → logits[n, V] in the instruction's workspace."""

    def call(hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        logits = o.scratch(len(hidden), len(table), dtype=table.dtype)
        return torch.mm(hidden, table.t(), out=logits)

    return call


def head_loss(o: Operands) -> Call:
    h, weight, targets, loss_weights = o.inputs
    loss_sum, weight_sum, dh = o.outputs[:3]
    dweight = o.outputs[3] if o.flag("weight_gradient") else None
    chunk_tokens, logits_of = o.integer("chunk_tokens"), _logits(o)

    def call() -> None:
        table = wide(weight)
        total = torch.zeros(1, dtype=torch.float64, device=h.device)
        dh.zero_()
        if dweight is not None:
            dweight.zero_()
        for chosen in _chunks(loss_weights, chunk_tokens):
            hidden, w = wide(h.index_select(0, chosen)), loss_weights.index_select(0, chosen)[:, None]
            target = targets.index_select(0, chosen).to(torch.int64)[:, None]
            logits = logits_of(hidden, table)
            at_target = logits.gather(1, target)
            lse = softmax_in_place(logits)
            total += (lse - at_target).mul_(w).sum(dtype=torch.float64)
            # The probabilities turn into the gradient of the logits in place.
            d = logits.scatter_add_(1, target, torch.full_like(lse, -1.0)).mul_(w)
            dh.index_copy_(0, chosen, torch.mm(d, table).to(dh.dtype))
            if dweight is not None:
                dweight.addmm_(d.t(), hidden)
        loss_sum.copy_(total)
        weight_sum.copy_(loss_weights.sum(dtype=torch.float64))

    return call


def head_loss_forward(o: Operands) -> Call:
    """The same without gradients, for evaluation; `correct` is the weight of the tokens whose target is the argmax."""
    h, weight, targets, loss_weights = o.inputs
    loss_sum, weight_sum, correct = o.outputs
    chunk_tokens, logits_of = o.integer("chunk_tokens"), _logits(o)

    def call() -> None:
        table = wide(weight)
        total = torch.zeros(2, dtype=torch.float64, device=h.device)
        for chosen in _chunks(loss_weights, chunk_tokens):
            w = loss_weights.index_select(0, chosen)
            target = targets.index_select(0, chosen).to(torch.int64)
            logits = logits_of(wide(h.index_select(0, chosen)), table)
            total[1] += (w * (logits.argmax(1) == target)).sum(dtype=torch.float64)
            at_target = logits.gather(1, target[:, None])
            nll = softmax_in_place(logits).sub_(at_target).view(-1)
            total[0] += (nll * w).sum(dtype=torch.float64)
        loss_sum.copy_(total[:1])
        correct.copy_(total[1:])
        weight_sum.copy_(loss_weights.sum(dtype=torch.float64))

    return call
