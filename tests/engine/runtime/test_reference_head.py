from __future__ import annotations

import pytest
import torch

from engine.protocol.errors import EngineError
from tests.helpers.reference_ops import (
    DTYPES,
    assert_close,
    call_op,
    draw,
    like,
    oracle,
    poisoned,
    weight_gradients_like,
)

TARGETS = torch.tensor([0, 66, 3, 3, 7, 1, 2, 9, 66], dtype=torch.int32)
N, D, V = len(TARGETS), 6, 67  # neither a multiple of a vector's width nor shorter than one
ALL = torch.ones(N)
SOME = torch.tensor([0.0, 1.0, 0.5, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0])
WORKSPACE = torch.empty(4 * V)
WEIGHTS = [ALL, SOME, torch.zeros(N)]


def one() -> torch.Tensor:
    return poisoned((1,), torch.float32)


def loss(h: torch.Tensor, weight: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    nll = torch.nn.functional.cross_entropy(h @ weight.T, TARGETS.long(), reduction="none")
    return (nll * weights.double()).sum()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss_weights", WEIGHTS, ids=["all", "some", "none"])
@pytest.mark.parametrize("chunk_tokens", [1, 4, 64])
def test_loss_and_gradients(chunk_tokens: int, loss_weights: torch.Tensor, dtype: torch.dtype) -> None:
    h, weight = draw(N, D, dtype=dtype), draw(V, D, dtype=dtype, seed=1)
    expected, (dh, dweight) = oracle(lambda h, w: loss(h, w, loss_weights), [h, weight], torch.ones(()))
    inputs, exact = [h, weight, TARGETS, loss_weights], dtype == torch.float64
    # Exactly what the op's rules ask for: one chunk of logits.
    workspace = poisoned((chunk_tokens * V * (8 if exact else 4),), torch.uint8)
    full_outputs = [one(), one(), *like(h), *weight_gradients_like(weight)]
    full = call_op(
        "head_loss", inputs, full_outputs, workspace=workspace, weight_gradient=True, chunk_tokens=chunk_tokens
    )
    assert_close(full[0], expected.view(1), terms=N)
    assert_close(full[1], loss_weights.double().sum().view(1))
    assert_close(full[2], dh, terms=V)
    assert_close(full[3], dweight, terms=N)
    frozen = call_op(
        "head_loss",
        inputs,
        [one(), one(), *like(h)],
        workspace=workspace,
        weight_gradient=False,
        chunk_tokens=chunk_tokens,
    )
    assert all(torch.equal(a, b) for a, b in zip(frozen, full[:3], strict=True))


@pytest.mark.parametrize("loss_weights", WEIGHTS, ids=["all", "some", "none"])
def test_evaluation_gives_the_same_loss_and_counts_hits(loss_weights: torch.Tensor) -> None:
    h, weight = draw(N, D), draw(V, D, seed=1)
    outputs = [one(), one(), one()]
    loss_sum, weight_sum, correct = call_op(
        "head_loss_forward", [h, weight, TARGETS, loss_weights], outputs, workspace=WORKSPACE, chunk_tokens=4
    )
    hits = (h.double() @ weight.double().T).argmax(1) == TARGETS
    assert_close(loss_sum, loss(h.double(), weight.double(), loss_weights).view(1), terms=N)
    assert_close(weight_sum, loss_weights.double().sum().view(1))
    assert_close(correct, (loss_weights * hits).double().sum().view(1))


def test_large_logits_do_not_overflow_and_ignored_targets_may_be_anything() -> None:
    h, weight = draw(N, D) * 1e4, draw(V, D, seed=1)
    targets = torch.where(SOME == 0, -100, TARGETS).to(torch.int32)
    outputs = call_op(
        "head_loss",
        [h, weight, targets, SOME],
        [one(), one(), *like(h)],
        workspace=WORKSPACE,
        chunk_tokens=4,
        weight_gradient=False,
    )
    assert all(output.isfinite().all() for output in outputs)


def test_too_little_workspace_is_an_error() -> None:
    h, weight = draw(N, D), draw(V, D, seed=1)
    with pytest.raises(EngineError, match="workspace"):
        call_op(
            "head_loss_forward",
            [h, weight, TARGETS, ALL],
            [one(), one(), one()],
            workspace=WORKSPACE[1:],
            chunk_tokens=4,
        )
