"""Call one operation of the reference executor on plain tensors, and compare with a float64 oracle.

Oracles may use autograd: only the engine must not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from engine.runtime.reference.dispatch import BINDERS
from engine.runtime.reference.operands import Operands

DTYPES = [torch.float64, torch.float32, torch.bfloat16]


def poisoned(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Memory as a used arena leaves it: every float a NaN."""
    tensor = torch.empty(tuple(shape), dtype=dtype)
    tensor.view(-1).view(torch.uint8).fill_(0xFF)
    return tensor


def call_op(
    op: str,
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    *,
    workspace: torch.Tensor | None = None,
    **attributes: object,
) -> list[torch.Tensor]:
    """Bind once, run twice with grad mode off (a second run must not depend on what the first left), return outputs."""
    before = [tensor.clone() for tensor in inputs]
    with torch.no_grad():
        call = BINDERS[op](Operands(op, tuple(inputs), tuple(outputs), attributes, workspace))
        call()
        call()
    for tensor, copy in zip(inputs, before, strict=True):
        assert torch.equal(tensor, copy), f"{op} wrote to an input"
    return list(outputs)


def like(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """Poisoned outputs of the same shapes and dtypes."""
    return [poisoned(tensor.shape, tensor.dtype) for tensor in tensors]


def weight_gradients_like(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """Poisoned outputs for gradients of weights, which are float32 whatever the weight is (float64 in exact tests)."""
    exact = torch.float64
    return [poisoned(tensor.shape, exact if tensor.dtype == exact else torch.float32) for tensor in tensors]


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Standard normal numbers that `dtype` holds exactly."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)), dtype=torch.float64).to(dtype)


def oracle(
    function: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor], upstream: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """`function` in float64 and its gradients for `upstream`, by torch autograd."""
    leaves = [tensor.to(torch.float64, copy=True).requires_grad_() for tensor in inputs]
    with torch.enable_grad():
        result = function(*leaves)
        gradients = torch.autograd.grad(result, leaves, upstream.double())
    return result.detach(), list(gradients)


def assert_close(actual: torch.Tensor, expected: torch.Tensor, terms: int = 1, magnitude: float = 1.0) -> None:
    """Equal up to the arithmetic that produced `actual` from at most `terms` summands, against a float64 `expected`.

    float64 and float32: rounding errors of a sum of n terms grow like √n · ε of its largest partial sum, which may be
    larger than the result (`magnitude`); a factor 16 covers the few operations around it. bfloat16: the arithmetic is
    float32, plus one rounding at the store (half a unit in the last of 8 bits, at most 2⁻⁸ of the value).
    """
    store = 2.0**-8 if actual.dtype == torch.bfloat16 else 0.0
    epsilon = torch.finfo(torch.float64 if actual.dtype == torch.float64 else torch.float32).eps
    largest = float(expected.abs().max()) if expected.numel() else 0.0
    allowed = 16 * epsilon * max(1, terms) ** 0.5 * max(largest, magnitude) + store * expected.abs() * 1.01
    error = (actual.double() - expected).abs()
    assert not torch.isnan(error).any(), "a NaN: an output was not written everywhere"
    assert bool((error <= allowed).all()), f"off by {float((error - allowed).max()):.3g} more than allowed"
