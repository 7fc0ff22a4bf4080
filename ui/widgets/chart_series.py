"""The numbers behind a chart, without a pixel: points on three axes, and their smoothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Axis = Literal["step", "time", "tokens"]
Numbers = NDArray[np.float64]


def _empty() -> Numbers:
    return np.empty(0, dtype=np.float64)


@dataclass(frozen=True)
class Points:
    """Values [P] at steps [P], seconds since the run began [P] and tokens seen [P]; NaN values leave a gap."""

    step: Numbers = field(default_factory=_empty)
    value: Numbers = field(default_factory=_empty)
    time: Numbers = field(default_factory=_empty)
    tokens: Numbers = field(default_factory=_empty)

    @classmethod
    def of(
        cls,
        step: Sequence[float],
        value: Sequence[float | None],
        time: Sequence[float] = (),
        tokens: Sequence[float] = (),
    ) -> Points:
        """From plain sequences; None values become NaN. Raises ValueError where lengths differ."""
        numbers = [float("nan") if item is None else float(item) for item in value]
        lengths = {len(step), len(numbers), *(len(axis) for axis in (time, tokens) if len(axis))}
        if len(lengths) > 1:
            raise ValueError(f"The points of a series have different lengths: {sorted(lengths)}.")
        arrays = (np.asarray(axis, dtype=np.float64) for axis in (step, numbers, time, tokens))
        return cls(*arrays)

    def x(self, axis: Axis) -> Numbers:
        """The chosen axis [P]; steps where the series does not know it."""
        chosen = {"step": self.step, "time": self.time, "tokens": self.tokens}[axis]
        return chosen if len(chosen) == len(self.value) else self.step

    def __len__(self) -> int:
        return len(self.value)


class Smoother:
    """Exponential moving average with bias correction (as in Adam, Kingma and Ba 2015), continued as points arrive.

    average_t = β·average_(t−1) + (1−β)·value_t; shown = average_t / (1 − β^t). NaN values are skipped and stay NaN.
    """

    def __init__(self, beta: float) -> None:
        if not 0 <= beta < 1:
            raise ValueError(f"Smoothing {beta} is not in [0, 1).")
        self.beta = beta
        self._seen: list[float] = []
        self._out: list[float] = []
        self._average = 0.0
        self._weight = 1.0

    def __call__(self, values: Numbers) -> Numbers:
        """The smoothed values [P]; only what was added since the last call is computed."""
        kept = len(self._seen)
        if kept > len(values) or (kept and not np.array_equal(self._seen, values[:kept], equal_nan=True)):
            self._seen, self._out, self._average, self._weight, kept = [], [], 0.0, 1.0, 0
        for value in values[kept:].tolist():
            self._seen.append(value)
            if np.isfinite(value):
                self._average = self.beta * self._average + (1 - self.beta) * value
                self._weight *= self.beta
                self._out.append(self._average / (1 - self._weight))
            else:
                self._out.append(float("nan"))
        return np.asarray(self._out, dtype=np.float64)


def nearest(points: Points, axis: Axis, at: float) -> int | None:
    """Index of the point closest to `at` on `axis`, None without points."""
    xs = points.x(axis)
    if not len(xs):
        return None
    right = int(np.searchsorted(xs, at))
    around = [index for index in (right - 1, right) if 0 <= index < len(xs)]
    return min(around, key=lambda index: abs(float(xs[index]) - at))


def table(series: Sequence[tuple[str, Points]], word: Callable[[float], str]) -> tuple[list[str], list[list[str]]]:
    """Steps in rows, series in columns, for "Show as table": headers without the step, rows with it first."""
    steps = sorted({float(step) for _, points in series for step in points.step})
    lookup = [dict(zip(points.step.tolist(), points.value.tolist(), strict=True)) for _, points in series]
    rows = [[f"{step:g}", *(word(values[step]) if step in values else "" for values in lookup)] for step in steps]
    return [label for label, _ in series], rows


def csv(series: Sequence[tuple[str, Points]]) -> str:
    """All points as CSV, one row each, numbers in full."""
    lines = ["series,step,seconds,tokens,value"]
    for key, points in series:
        for row, value in enumerate(points.value.tolist()):
            axes = [f"{axis[row]!r}" if len(axis) else "" for axis in (points.time.tolist(), points.tokens.tolist())]
            lines.append(",".join([key, f"{points.step[row]:g}", *axes, f"{value!r}"]))
    return "\n".join(lines) + "\n"


def trend(values: Numbers, window: int = 10) -> float | None:
    """Relative change of the last value against the one `window` points before; None with too few points."""
    finite = values[np.isfinite(values)]
    if len(finite) <= window or finite[-1 - window] == 0:
        return None
    return float(finite[-1] / finite[-1 - window] - 1)
