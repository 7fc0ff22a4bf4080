"""What must not change the numbers, on the golden models: recompute, the shape of accumulation, who makes gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.graph.ops.step import Metric
from engine.graph.options import Recompute
from engine.graph.types import DType
from tests.helpers.golden_cases import Case
from tests.helpers.golden_engine import Engine
from tests.helpers.golden_oracle import document_logits, expected, initial_weights, oracle_model

LORA, FULL = Case("llama-tied", "lora", "ragged"), Case("qwen3", "full", "ragged")


def losses(engine: Engine, steps: int) -> list[float]:
    return [engine.step(number)[Metric.LOSS] for number in range(steps)]


@pytest.mark.parametrize("case", [replace(LORA, dropout=0.2), LORA, FULL], ids=["dropout", "lora", "full"])
def test_recompute_changes_no_bit(case: Case) -> None:
    weights = initial_weights(case)
    saved, recomputed = (Engine(case, weights, recompute) for recompute in (Recompute.OFF, Recompute.ON))
    assert recomputed.layout.transient_bytes < saved.layout.transient_bytes
    assert losses(saved, 5) == losses(recomputed, 5)
    for name, array in saved.weights().items():
        np.testing.assert_array_equal(array, recomputed.weights()[name], err_msg=name)


def test_dropout_is_at_work_in_training_and_not_in_evaluation() -> None:
    weights = initial_weights(LORA)
    without, with_dropout = Engine(LORA, weights), Engine(replace(LORA, dropout=0.2), weights)
    np.testing.assert_array_equal(without.logits(), with_dropout.logits())
    first, second = losses(without, 2), losses(with_dropout, 2)
    assert abs(first[0] - second[0]) > 1e-4


@pytest.mark.parametrize("case", [LORA, FULL], ids=["lora", "full"])
def test_one_by_four_and_four_by_one_agree_within_rounding(case: Case) -> None:
    """The same rows in another order of summation: float32 sums of some 50 terms, then steps on top of them."""
    together, apart = (Engine(replace(case, layout=layout), initial_weights(case)) for layout in ("4x1", "1x4"))
    np.testing.assert_allclose(losses(together, 8), losses(apart, 8), rtol=1e-5)


BACKWARD_WAYS = [
    (torch.autograd, ("backward", "grad")),
    (torch.Tensor, ("backward",)),
    (torch.autograd.Function, ("apply",)),
    (torch.func, ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize", "vmap")),
]


@pytest.mark.parametrize("case", [LORA, FULL], ids=["lora", "full"])
def test_gradients_come_from_the_graph_alone(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five steps follow the oracle with every entrance to torch's own differentiation replaced by a raiser."""
    theirs, weights = expected(case).losses, initial_weights(case)

    def raiser(*_: object, **__: object) -> None:
        raise AssertionError("torch's automatic differentiation was asked for a gradient")

    for place, names in BACKWARD_WAYS:
        for name in names:
            monkeypatch.setattr(place, name, raiser)
    with pytest.raises(AssertionError, match="was asked"):
        torch.ones(1, requires_grad=True).sum().backward()
    with torch.inference_mode():  # grad mode off, and not to be turned on inside either
        engine = Engine(case, weights)
        ours = losses(engine, 5)
        assert not torch.is_grad_enabled()
    np.testing.assert_allclose(ours, theirs[:5], atol=1e-4)


@pytest.mark.parametrize("name", ["llama-untied", "llama3-rope", "window", "qwen3"])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_generation_over_caches_gives_the_logits_of_the_whole_text(name: str, method: str) -> None:
    """Nine tokens of prompt in chunks of six (the second is padded), then token by token to the end of the context."""
    case = Case(name, method, "single")
    with torch.no_grad():
        (theirs,) = document_logits(oracle_model(case)[0], case.micro_batches[0])
    engine = Engine(case, initial_weights(case))
    tokens = case.micro_batches[0].documents[0].ids
    for _ in range(2):  # a second text over the same caches must not see the first
        ours = engine.generate_logits(tokens, prompt=9)
        np.testing.assert_allclose(ours, theirs.numpy()[8:], atol=1e-4)


@pytest.mark.parametrize("case", [LORA, FULL], ids=["lora", "full"])
def test_half_precision_follows_single_precision(case: Case) -> None:
    """bfloat16 rounds each of some 30 activations in a row to 2⁻⁸. Measured: losses between 5.3 and 1.8 differ by 0.005
    (LoRA) and 0.016 (full); the limit leaves room for processors that sum in another order."""
    half = Engine(replace(case, precision=DType.BF16), _masters(case))
    found = losses(half, 10)
    np.testing.assert_allclose(found, expected(case).losses[:10], atol=0.04)
    assert all(np.isfinite(array).all() for array in half.weights().values())


def _masters(case: Case) -> dict[str, np.ndarray]:
    """Weights that bfloat16 holds exactly, so that both precisions start from the same model."""
    return {name: torch.from_numpy(array).bfloat16().float().numpy() for name, array in initial_weights(case).items()}
