from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from engine.graph.ops.step import Decision, Limit, Metric
from engine.runtime.reference.dispatch import BINDERS
from engine.runtime.reference.operands import Operands
from tests.helpers.reference_ops import draw, poisoned

ADAMW = {"beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1}


def run(op: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], **attributes: object) -> None:
    BINDERS[op](Operands(op, tuple(inputs), tuple(outputs), attributes))()


def step_state(micro_batch: int) -> torch.Tensor:
    return torch.tensor([1, 2, micro_batch, 0])


def test_the_first_micro_batch_overwrites_and_the_others_add() -> None:
    accumulator = poisoned((3,), torch.float32)
    for micro_batch in range(3):
        run("accumulate", [accumulator, torch.full((3,), 2.0**micro_batch), step_state(micro_batch)], [accumulator])
    assert accumulator.tolist() == [7.0] * 3


def test_a_slot_is_stored_at_its_micro_batch() -> None:
    slots = torch.zeros(4)
    run("store_slot", [slots, torch.tensor([5.0]), step_state(2)], [slots])
    assert slots.tolist() == [0.0, 0.0, 5.0, 0.0]


def test_squares_are_summed_into_their_slot() -> None:
    squares, gradient = torch.zeros(3), draw(70, 90)
    run("squared_sum", [squares, gradient], [squares], index=1)
    # One rounding of an exact sum to float32.
    assert squares[1].item() == pytest.approx(float(gradient.double().square().sum()), rel=2**-23)
    assert squares[0] == squares[2] == 0


def decide(
    squares: list[float], losses: list[float], weights: list[float], **bounds: float
) -> tuple[torch.Tensor, int, torch.Tensor]:
    limits = torch.full((len(Limit),), torch.inf)
    limits[Limit.MAXIMUM_GRAD_NORM] = 1.0
    for name, value in bounds.items():
        limits[Limit[name]] = value
    decision, count, metrics = poisoned((2,), torch.float32), torch.tensor([6]), poisoned((6,), torch.float32)
    inputs = [torch.tensor(squares), torch.tensor(losses), torch.tensor(weights), limits, count, metrics]
    run("decide_step", inputs, [decision, count, metrics])
    return decision, int(count), metrics


def test_the_step_divides_once_by_the_weights_of_all_micro_batches_and_clips() -> None:
    decision, count, metrics = decide([64.0, 36.0], [3.0, 5.0], [1.0, 3.0])
    assert count == 7 and metrics[Metric.OPTIMIZER_STEP] == 7 and metrics[Metric.APPLIED] == 1
    assert metrics[Metric.LOSS] == 2.0 and metrics[Metric.TOTAL_WEIGHT] == 4.0
    assert metrics[Metric.GRAD_NORM] == 2.5
    assert metrics[Metric.CLIP].item() == pytest.approx(1 / 2.500001, rel=1e-6)
    assert decision[Decision.GRADIENT_SCALE].item() == pytest.approx(1 / 2.500001 / 4, rel=1e-6)
    assert decision[Decision.APPLIED] == 1


@pytest.mark.parametrize(
    ("squares", "losses", "weights", "bounds"),
    [
        ([float("nan")], [1.0], [1.0], {}),
        ([float("inf")], [1.0], [1.0], {}),
        ([1.0], [float("nan")], [1.0], {}),
        ([1.0], [1.0], [0.0], {}),
        ([1.0], [4.0], [1.0], {"LOSS_BOUND": 3.0}),
        ([100.0], [1.0], [1.0], {"GRAD_NORM_BOUND": 3.0}),
    ],
    ids=["nan gradient", "infinite gradient", "nan loss", "no tokens", "loss bound", "norm bound"],
)
def test_a_step_that_must_not_be_applied_leaves_everything_as_it_was(
    squares: list[float], losses: list[float], weights: list[float], bounds: dict[str, float]
) -> None:
    decision, count, metrics = decide(squares, losses, weights, **bounds)
    assert count == 6 and metrics[Metric.APPLIED] == 0 and decision.tolist() == [0.0, 0.0]
    tensors = [draw(5), draw(5, seed=1), draw(5, seed=2)]
    before = [tensor.clone() for tensor in tensors]
    limits, gradient = torch.tensor([1e-3, 1.0, 1.0, 1.0]), torch.full((5,), torch.nan)
    run("adamw", [*tensors, gradient, decision, limits, torch.tensor([count])], tensors, **ADAMW)
    assert all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))


@pytest.mark.parametrize("shape", [(1,), (3, 5), (600, 700)])
def test_adamw_follows_torch(shape: tuple[int, ...]) -> None:
    """(600, 700) is longer than one piece."""
    parameter, first, second = draw(*shape), torch.zeros(shape), torch.zeros(shape)
    theirs = torch.nn.Parameter(parameter.clone())
    optimizer = torch.optim.AdamW([theirs], lr=3e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    limits, decision = torch.tensor([3e-3, 1.0, 1.0, 1.0]), torch.tensor([0.25, 1.0])
    for step in range(1, 6):
        gradient = draw(*shape, seed=step)
        theirs.grad = gradient * 0.25
        optimizer.step()
        inputs = [parameter, first, second, gradient, decision, limits, torch.tensor([step])]
        run("adamw", inputs, inputs[:3], **ADAMW)
    # The learning rate is float32 here and float64 there (6e-8 relative), over five steps of at most 3e-3 each.
    assert torch.allclose(parameter, theirs, rtol=1e-6, atol=1e-7)
