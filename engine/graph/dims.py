"""Symbolic sizes: polynomials with integer coefficients over named dimensions.

A block graph is built once and instantiated for many layers, batch shapes and programs, so its shapes are
written in letters (`N`, `H * HD`) and become numbers only when a schedule is unrolled. Two sizes are equal when
their normal forms are, so `N * (H * HD)` equals `(N * H) * HD` without any solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.graph.errors import GraphError

Monomial = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """A polynomial in normal form: sorted monomials (sorted letters, repeated for powers), no zero coefficient."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: SizeLike) -> Size:
        return _normal([*self.terms, *size(other).terms])

    def __sub__(self, other: SizeLike) -> Size:
        return self + size(other) * -1

    def __mul__(self, other: SizeLike) -> Size:
        right = size(other).terms
        return _normal([(tuple(sorted(a + b)), m * n) for a, m in self.terms for b, n in right])

    __radd__ = __add__
    __rmul__ = __mul__

    def evaluate(self, bindings: Mapping[str, int]) -> int:
        """The number this size is under `bindings` (letter → number); GraphError names a letter without one."""
        total = 0
        for monomial, coefficient in self.terms:
            product = coefficient
            for letter in monomial:
                if letter not in bindings:
                    raise GraphError("graph.unbound_dim", f"size {self} needs a number for '{letter}'")
                product *= bindings[letter]
            total += product
        return total

    @property
    def letters(self) -> frozenset[str]:
        return frozenset(letter for monomial, _ in self.terms for letter in monomial)

    def __str__(self) -> str:
        return " + ".join(_term_text(m, c) for m, c in self.terms) or "0"


SizeLike = Size | int


def size(value: SizeLike) -> Size:
    """An int or a Size as a Size."""
    if isinstance(value, Size):
        return value
    return Size((((), value),) if value else ())


def dim(letter: str) -> Size:
    """The dimension called `letter`."""
    return Size((((letter,), 1),))


def product(sizes: tuple[Size, ...]) -> Size:
    """The product of all sizes; 1 for none."""
    result = size(1)
    for each in sizes:
        result = result * each
    return result


def _normal(terms: list[tuple[Monomial, int]]) -> Size:
    sums: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        sums[monomial] = sums.get(monomial, 0) + coefficient
    return Size(tuple(sorted((m, c) for m, c in sums.items() if c)))


def _term_text(monomial: Monomial, coefficient: int) -> str:
    letters = "·".join(monomial)
    if not letters:
        return str(coefficient)
    return letters if coefficient == 1 else f"{coefficient}·{letters}"


B, T, N, M = dim("B"), dim("T"), dim("N"), dim("M")  # batch, sequence, tokens (B·T), documents
D, F, V, L = dim("D"), dim("F"), dim("V"), dim("L")  # hidden, feed-forward, vocabulary, layers
H, K, HD = dim("H"), dim("K"), dim("HD")  # heads, key/value heads, head dimension
R, A, C = dim("R"), dim("A"), dim("C")  # LoRA rank, gradient accumulation steps, generation context
LAYER = dim("layer")  # the number of the layer an instance of a block stands for, from 0
CHUNK = dim("chunk_tokens")  # tokens a chunk of the head's loss
