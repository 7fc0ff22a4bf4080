from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graph.dims import HD, B, D, H, N, Size, T, dim, product, size
from engine.graph.errors import GraphError

letters = st.sampled_from([B, T, D, H, size(0), size(1), size(3)])
sizes = st.recursive(
    letters,
    lambda inner: st.tuples(inner, inner, st.booleans()).map(
        lambda each: each[0] + each[1] if each[2] else each[0] * each[1]
    ),
    max_leaves=8,
)
NUMBERS = {"B": 2, "T": 5, "D": 7, "H": 3}


def test_equality_is_by_normal_form() -> None:
    assert N * (H * HD) == (HD * N) * H
    assert (B + 1) * (B + 1) == B * B + 2 * B + 1
    assert size(0) == B - B
    assert B * T != B * D


@given(sizes, sizes, sizes)
def test_sizes_are_a_commutative_ring(a: Size, b: Size, c: Size) -> None:
    assert a + b == b + a
    assert a * b == b * a
    assert a * (b + c) == a * b + a * c
    assert (a + b) + c == a + (b + c)
    assert a - a == size(0)


@given(sizes, sizes)
def test_numbers_follow(a: Size, b: Size) -> None:
    assert (a * b).evaluate(NUMBERS) == a.evaluate(NUMBERS) * b.evaluate(NUMBERS)
    assert (a + b).evaluate(NUMBERS) == a.evaluate(NUMBERS) + b.evaluate(NUMBERS)


def test_a_letter_without_a_number_is_named() -> None:
    with pytest.raises(GraphError, match=r"2·B\+?.*'B'|needs a number for 'B'"):
        (B * 2).evaluate({})


def test_text_and_product() -> None:
    assert str(B * T * 2 + 1) == "1 + 2·B·T"
    assert product((B, T, size(4))) == dim("B") * dim("T") * 4
