from __future__ import annotations

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.training.schedules import LearningRateSchedule, ScheduleKind

KINDS: tuple[ScheduleKind, ...] = get_args(ScheduleKind)


def _schedule(
    kind: ScheduleKind, total: int = 100, warmup: int = 10, ratio: float = 0.1, decay: float = 0.2
) -> LearningRateSchedule:
    return LearningRateSchedule(
        kind=kind, peak=2e-4, total_steps=total, warmup_steps=warmup, minimum_ratio=ratio, decay_ratio=decay
    )


@pytest.mark.parametrize("kind", KINDS)
def test_warmup_rises_linearly_and_the_first_step_moves(kind: ScheduleKind) -> None:
    schedule = _schedule(kind)
    assert schedule.at(1) == pytest.approx(2e-5)
    assert schedule.at(5) == pytest.approx(1e-4)
    assert schedule.at(10) == pytest.approx(2e-4)


@pytest.mark.parametrize(("kind", "last"), [("constant", 2e-4), ("linear", 2e-5), ("cosine", 2e-5), ("wsd", 2e-5)])
def test_the_last_step_has_the_minimum(kind: ScheduleKind, last: float) -> None:
    assert _schedule(kind).at(100) == pytest.approx(last)


def test_the_middles_are_where_the_formulas_say() -> None:
    assert _schedule("linear").at(55) == pytest.approx(2e-4 * 0.55)
    assert _schedule("cosine").at(55) == pytest.approx(2e-4 * 0.55)
    assert _schedule("cosine").at(32) > _schedule("linear").at(32)
    assert _schedule("wsd").at(80) == pytest.approx(2e-4)
    assert _schedule("wsd").at(90) == pytest.approx(2e-4 * 0.55)
    assert _schedule("wsd", decay=0.0).at(100) == pytest.approx(2e-4)
    assert _schedule("wsd", decay=1.0).at(11) < 2e-4


@given(
    kind=st.sampled_from(KINDS), total=st.integers(1, 50), data=st.data(), ratio=st.floats(0, 1), decay=st.floats(0, 1)
)
def test_any_run_stays_between_zero_and_the_peak_and_never_rises_after_warmup(
    kind: ScheduleKind, total: int, data: st.DataObject, ratio: float, decay: float
) -> None:
    warmup = data.draw(st.integers(0, total))
    schedule = _schedule(kind, total, warmup, ratio, decay)
    rates = [schedule.at(step) for step in range(1, total + 1)]
    assert all(0 <= rate <= 2e-4 * (1 + 1e-12) for rate in rates)
    after = rates[warmup:]
    assert all(later <= earlier * (1 + 1e-12) + 1e-18 for earlier, later in itertools.pairwise(after))


@pytest.mark.parametrize("step", [0, 101, -1])
def test_a_step_outside_the_run_is_refused(step: int) -> None:
    with pytest.raises(ValueError, match="outside the run"):
        _schedule("linear").at(step)
