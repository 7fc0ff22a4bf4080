from __future__ import annotations

import pytest
import torch

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

SHAPES = [(1, 1, 1), (7, 5, 3), (33, 64, 48)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "i", "o"), SHAPES)
def test_linear_and_its_gradients(n: int, i: int, o: int, dtype: torch.dtype) -> None:
    x, weight, dy = draw(n, i, dtype=dtype), draw(o, i, dtype=dtype, seed=1), draw(n, o, dtype=dtype, seed=2)
    y, (dx, dweight) = oracle(lambda x, w: x @ w.T, [x, weight], dy)
    assert_close(call_op("linear", [x, weight], like(dy))[0], y, terms=i)
    assert_close(call_op("linear_input_backward", [dy, weight], like(x))[0], dx, terms=o)
    assert_close(call_op("linear_weight_backward", [dy, x], weight_gradients_like(weight))[0], dweight, terms=n)


def test_products_of_mixed_precision_are_formed_in_float32() -> None:
    x, weight = draw(9, 20, dtype=torch.bfloat16), draw(6, 20)
    (y,) = call_op("linear", [x, weight], [poisoned((9, 6), torch.float32)])
    assert_close(y, x.double() @ weight.double().T, terms=20)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "o"), [(1, 1), (7, 3), (65, 48)])
def test_bias_and_its_gradient(n: int, o: int, dtype: torch.dtype) -> None:
    x, bias, dy = draw(n, o, dtype=dtype), draw(o, dtype=dtype), draw(n, o, dtype=dtype, seed=2)
    y, (_, dbias) = oracle(torch.add, [x, bias], dy)
    assert_close(call_op("bias_add", [x, bias], like(x))[0], y)
    assert_close(call_op("bias_backward", [dy], weight_gradients_like(bias))[0], dbias, terms=n)
