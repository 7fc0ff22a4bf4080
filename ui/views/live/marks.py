"""Vertical marks on a chart: where a number was not finite. They stand where the event stands, on every x axis."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg  # type: ignore[import-untyped]  # pyqtgraph ships no types

from ui import theme as themes
from ui.fonts import text_font
from ui.widgets.chart_card import ChartCard
from ui.widgets.chart_pens import neutral_pen
from ui.widgets.chart_series import Axis, Points, nearest


class Marks:
    """The marks of one chart. `steps` says where they are, for tests and screen readers."""

    def __init__(self, card: ChartCard) -> None:
        self._card = card
        self._lines: list[pg.InfiniteLine] = []
        self._drawn: tuple[tuple[float, str], ...] = ()
        self.steps: tuple[int, ...] = ()

    def show(self, marks: Sequence[tuple[int, str]], axis: Axis, points: Points) -> None:
        """Marks `(step, label)` on the present axis; `points` tells where a step lies in time and tokens."""
        self.steps = tuple(step for step, _ in marks)
        wanted = tuple((_place(step, axis, points), label) for step, label in marks)
        if wanted == self._drawn:
            return
        self._drawn = wanted
        for line in self._lines:
            self._card.plot.removeItem(line)
        self._lines = [self._line(x, label) for x, label in wanted]

    def restyle(self) -> None:
        """Take the colours of the theme in force."""
        for line in self._lines:
            line.setPen(neutral_pen(themes.current(), dashed=True, token="tx1"))
            if hasattr(line, "label"):
                line.label.setColor(themes.current().color("tx1"))

    def _line(self, x: float, label: str) -> pg.InfiniteLine:
        theme = themes.current()
        options = {"position": 0.92, "color": theme.color("tx1"), "anchors": [(0, 0), (1, 0)], "movable": False}
        pen = neutral_pen(theme, dashed=True, token="tx1")
        line = pg.InfiniteLine(x, angle=90, pen=pen, label=label or None, labelOpts=options)
        if label:
            line.label.setFont(text_font(theme.px(11)))
        self._card.plot.addItem(line, ignoreBounds=True)
        return line


def _place(step: int, axis: Axis, points: Points) -> float:
    if axis == "step" or not len(points):
        return float(step)
    index = nearest(points, "step", step)
    return float(points.x(axis)[index]) if index is not None else float(step)
