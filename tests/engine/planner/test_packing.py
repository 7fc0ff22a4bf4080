from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.planner.packing import ALIGNMENT, Packing, Span, aligned, pack

spans = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 40), st.integers(0, 40)), min_size=0, max_size=60).map(
    lambda rows: [Span(f"t{i}", size, min(a, b), max(a, b)) for i, (size, a, b) in enumerate(rows)]
)


def overlaps(spans: list[Span], packing: Packing) -> list[tuple[str, str]]:
    found = []
    for i, one in enumerate(spans):
        for other in spans[i + 1 :]:
            together = one.first <= other.last and other.first <= one.last
            a, b = packing.offsets[one.name], packing.offsets[other.name]
            if together and a < b + aligned(other.size_bytes) and b < a + aligned(one.size_bytes):
                found.append((one.name, other.name))
    return found


@given(spans)
def test_no_two_live_spans_overlap(case: list[Span]) -> None:
    assert overlaps(case, pack(case)) == []


@given(spans)
def test_total_is_the_highest_end_and_not_below_the_bound(case: list[Span]) -> None:
    packing = pack(case)
    highest = max((packing.offsets[s.name] + aligned(s.size_bytes) for s in case), default=0)
    assert packing.total_bytes == highest
    assert packing.total_bytes >= packing.lower_bound_bytes
    assert all(offset % ALIGNMENT == 0 for offset in packing.offsets.values())


def test_a_stack_is_packed_without_waste() -> None:
    layers = 32
    saved = [Span(f"saved{i}", 1000 * (1 + i % 3), i, 2 * layers - i) for i in range(layers)]
    scratch = [Span(f"scratch{i}", 5000, i, i) for i in range(2 * layers + 1)]
    packing = pack(saved + scratch)
    assert packing.total_bytes <= 1.02 * packing.lower_bound_bytes


def test_the_overlap_check_above_can_fail() -> None:
    case = [Span("a", 300, 0, 5), Span("b", 300, 5, 9)]
    assert overlaps(case, Packing({"a": 0, "b": 256}, 768, 0)) == [("a", "b")]
