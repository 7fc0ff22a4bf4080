"""A chart in a card: title, legend, current value, axis switch, menu; and honest states without points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyqtgraph as pg  # type: ignore[import-untyped]  # pyqtgraph ships no types
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.format import compact, duration, number, percent
from ui.theme import Theme
from ui.tr import tr
from ui.widgets.button import IconButton
from ui.widgets.card import Card
from ui.widgets.chart_legend import Kind, LegendEntry
from ui.widgets.chart_menu import chart_menu
from ui.widgets.chart_pens import MARKERS, neutral_pen, raw_pen, series_pen
from ui.widgets.chart_plot import ChartPlot, Word
from ui.widgets.chart_readout import Readout
from ui.widgets.chart_series import Axis, Numbers, Points, Smoother, csv, nearest, table, trend
from ui.widgets.segmented import SegmentedControl
from ui.widgets.text import Text

ChartState = Literal["hidden", "waiting", "live", "paused", "stale", "error"]
AXES: tuple[Axis, ...] = ("step", "time", "tokens")


@dataclass
class _Series:
    key: str
    label: str
    slot: int
    kind: Kind
    points: Points
    smoother: Smoother
    main: pg.PlotDataItem
    raw: pg.PlotDataItem | None
    shown: bool = True


class ChartCard(Card):
    """Series by key. Nothing is drawn before there are points: "waiting" says when they come."""

    def __init__(
        self,
        title: str,
        *,
        word: Callable[[float], str] | None = None,
        axes: Sequence[Axis] = AXES,
        axis_switch: bool = False,
        legend: bool = True,
        current_value: bool = True,
        smoothing: float = 0.9,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(title, parent=parent)
        self._word: Word = word or (lambda value: number(value, 3))
        self._axes, self._axis = tuple(axes), axes[0]
        self._smoothing = smoothing
        self._series: dict[str, _Series] = {}
        self._state: ChartState = "waiting"
        self._cursor: int | None = None
        self._log = False
        self._limits: list[pg.InfiniteLine] = []
        self.plot = ChartPlot(title, word)
        self._message = Text("", tone="tx3", wrap=True)
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._message)
        self._stack.addWidget(self.plot)
        self.body.setContentsMargins(8, 0, 8, 6)
        self.body.addWidget(self._stack, 1)
        self._legend = QHBoxLayout() if legend else None
        if self._legend is not None:
            self._legend.setSpacing(10)
        self._value = Text("", weight=600)
        self._build_header(axis_switch)
        self._value.setVisible(current_value)  # once it has its parent: without one it would be a window for a moment
        self._readout = Readout(self.plot)
        self.plot.hovered.connect(self._hover)
        self.plot.next_axis.connect(self._next_axis)
        self.plot.moved_by_key.connect(self._move_cursor)
        self.set_state("waiting")

    def add_series(self, key: str, label: str, slot: int, kind: Kind = "line") -> None:
        """Declare a series: `smoothed` draws the raw line faintly behind its average, `evaluation` draws markers."""
        if key in self._series:
            raise ValueError(f"The chart already has a series {key!r}.")
        options = {"clipToView": True, "autoDownsample": True, "downsampleMethod": "peak", "connect": "finite"}
        raw = pg.PlotDataItem(**options) if kind == "smoothed" else None
        if raw is not None:
            self.plot.addItem(raw)
        if kind == "evaluation":
            options = {"connect": "finite"}  # a marker stands for one evaluation: none may be thinned out
        main = pg.PlotDataItem(**options)
        self.plot.addItem(main)
        beta = self._smoothing if kind == "smoothed" else 0.0
        series = _Series(key, label, slot, kind, Points(), Smoother(beta), main, raw)
        self._series[key] = series
        self._restyle_series(series, themes.current())
        if self._legend is not None:
            entry = LegendEntry(label, slot, kind)
            if kind == "smoothed":
                entry.setToolTip(tr("Show or hide {label}. Bold: smoothed; faint: each step.", label=label))
            entry.toggled.connect(lambda on, key=key: self._show_series(key, on))
            self._legend.addWidget(entry)

    def set_points(self, key: str, points: Points) -> None:
        """Show all points of a series (with those that were shown before). Raises KeyError for an undeclared one."""
        series = self._series[key]
        series.points = points
        self._draw(series)
        if len(points) and self._state == "waiting":
            self.set_state("live")
        if series is next(iter(self._series.values())):
            self._value.setText(self._word(float(points.value[-1])) if len(points) else "")
        self.plot.setAccessibleDescription(self.summary())

    def plotted(self, key: str) -> tuple[Numbers, Numbers]:
        """x and y of what is drawn for a series before smoothing: exactly its points on the present axis."""
        series = self._series[key]
        item = series.raw if series.raw is not None else series.main
        x, y = item.getOriginalDataset()
        empty = Points().value
        return (empty, empty) if x is None else (x, y)

    def smoothed(self, key: str) -> Numbers:
        """y of the main line of a series."""
        _, y = self._series[key].main.getOriginalDataset()
        return Points().value if y is None else y

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and rows of "Show as table"."""
        headers, rows = table([(series.label, series.points) for series in self._series.values()], self._word)
        return [tr("Step"), *headers], rows

    def summary(self) -> str:
        """What a screen reader says: "loss 0.784, falling 0.4 % per 10 points"."""
        first = next((series for series in self._series.values() if len(series.points)), None)
        if first is None:
            return tr("no points yet")
        values = first.smoother(first.points.value)
        change = trend(values)
        now = f"{first.label} {self._word(float(first.points.value[-1]))}"
        if change is None:
            return now
        direction = tr("falling") if change < 0 else tr("rising")
        share = percent(abs(change), 1)
        return tr("{now}, {direction} {share} per 10 points", now=now, direction=direction, share=share)

    def set_state(self, state: ChartState, text: str = "") -> None:
        """hidden, waiting (says when points come), live, paused, stale, or error (says why)."""
        self._state = state
        waiting = text or tr("The first point comes after step 1.")
        drawn = state in ("live", "paused", "stale")
        self.setVisible(state != "hidden")
        self._stack.setCurrentIndex(1 if drawn else 0)
        self._message.setText(waiting if state == "waiting" else text)
        self._message.set_tone("bad" if state == "error" else "tx3")
        notes = {"paused": text or tr("paused"), "stale": text or tr("no news")}
        self.meta.setText(notes.get(state, ""))

    @property
    def state(self) -> ChartState:
        """The state that is shown."""
        return self._state

    def set_axis(self, axis: Axis) -> None:
        """Draw all series against steps, time or tokens."""
        self._axis = axis
        self.plot.set_axis(axis)
        for series in self._series.values():
            self._draw(series)
        self.plot.show_everything()
        if self._switch is not None:
            self._switch.set_value(axis)

    def link_x(self, other: ChartCard) -> None:
        """Zoom and pan together with another chart."""
        self.plot.setXLink(other.plot)

    def set_log(self, log: bool) -> None:
        """A logarithmic y axis or a plain one."""
        self._log = log
        self.plot.setLogMode(x=False, y=log)

    def set_smoothing(self, beta: float) -> None:
        """How much of the past the average keeps, in [0, 1)."""
        self._smoothing = beta
        for series in self._series.values():
            if series.kind == "smoothed":
                series.smoother = Smoother(beta)
                self._draw(series)

    def add_limit(self, value: float, label: str) -> None:
        """A dashed neutral line at `value` (such as a clip threshold) with its label."""
        theme = themes.current()
        options = {"position": 0.94, "color": theme.color("tx2"), "anchors": [(1, 1), (1, 1)]}
        line = pg.InfiniteLine(value, angle=0, pen=neutral_pen(theme, dashed=True), label=label, labelOpts=options)
        line.label.setFont(text_font(theme.px(11)))
        self.plot.addItem(line, ignoreBounds=True)
        self._limits.append(line)

    def changeEvent(self, event: QEvent) -> None:
        """Charts follow the theme while the window is open."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "plot"):
            self.plot.restyle()
            for line in self._limits:
                line.setPen(neutral_pen(themes.current(), dashed=True))
                line.label.setColor(themes.current().color("tx2"))
            for series in self._series.values():
                self._restyle_series(series, themes.current())

    def _build_header(self, axis_switch: bool) -> None:
        self._switch: SegmentedControl | None = None
        if self._legend is not None:
            self.header.insertLayout(1, self._legend)
        self.header.addWidget(self._value)
        if axis_switch and len(self._axes) > 1:
            words = {"step": tr("Step"), "time": tr("Time"), "tokens": tr("Tokens")}
            name = tr("{title}: axis", title=self.title.text())
            self._switch = SegmentedControl(name, [(axis, words[axis]) for axis in self._axes], small=True)
            self._switch.picked.connect(self.set_axis)
            self.header.addWidget(self._switch)
        menu = IconButton("more", tr("{title}: menu", title=self.title.text()), size="inline")
        menu.clicked.connect(lambda: self._open_menu(menu))
        self.header.addWidget(menu)

    def csv(self) -> str:
        """All points as CSV, numbers in full."""
        return csv([(series.key, series.points) for series in self._series.values()])

    @property
    def logarithmic(self) -> bool:
        """Whether the y axis is logarithmic."""
        return self._log

    @property
    def smoothing(self) -> float:
        """How much of the past the average keeps."""
        return self._smoothing

    def _open_menu(self, button: QWidget) -> None:
        chart_menu(self).exec(button.mapToGlobal(QPoint(0, button.height())))

    def _draw(self, series: _Series) -> None:
        x = series.points.x(self._axis)
        if series.raw is not None:
            series.raw.setData(x, series.points.value)
            series.main.setData(x, series.smoother(series.points.value))
        else:
            series.main.setData(x, series.points.value)

    def _restyle_series(self, series: _Series, theme: Theme) -> None:
        if series.raw is not None:
            series.raw.setPen(raw_pen(theme, series.slot))
        series.main.setPen(series_pen(theme, series.slot))
        if series.kind == "evaluation":
            series.main.setSymbol(MARKERS[series.slot - 1])
            series.main.setSymbolSize(8)
            series.main.setSymbolPen(pg.mkPen(QColor(theme.series[series.slot - 1]), width=1.5))
            series.main.setSymbolBrush(theme.color("bg2"))

    def _show_series(self, key: str, on: bool) -> None:
        series = self._series[key]
        series.shown = on
        series.main.setVisible(on)
        if series.raw is not None:
            series.raw.setVisible(on)

    def _next_axis(self) -> None:
        self.set_axis(self._axes[(self._axes.index(self._axis) + 1) % len(self._axes)])

    def _move_cursor(self, by: int) -> None:
        first = next((series for series in self._series.values() if len(series.points)), None)
        if first is None:
            return
        last = len(first.points) - 1
        self._cursor = min(max((last if self._cursor is None else self._cursor) + by, 0), last)
        self._hover(float(first.points.x(self._axis)[self._cursor]))

    def _hover(self, at: object) -> None:
        drawn = [series for series in self._series.values() if series.shown and len(series.points)]
        visible = isinstance(at, float) and bool(drawn)
        self.plot.crosshair.setVisible(visible)
        self._readout.setVisible(visible)
        if not isinstance(at, float) or not drawn:
            return
        index = nearest(drawn[0].points, self._axis, at)
        assert index is not None
        x = float(drawn[0].points.x(self._axis)[index])
        self.plot.crosshair.setPos(x)
        self._readout.show_values(self._heading(drawn[0].points, index), self._values_at(drawn, x))
        box = self.plot.getPlotItem().vb
        self._readout.place(self.plot.mapFromScene(box.mapViewToScene(QPointF(x, 0))).x())

    def _heading(self, points: Points, index: int) -> str:
        parts = [tr("Step {step}", step=number(float(points.step[index])))]
        if len(points.time):
            parts.append(duration(float(points.time[index])))
        if len(points.tokens):
            parts.append(tr("{count} tokens", count=compact(float(points.tokens[index]))))
        return " · ".join(parts)

    def _values_at(self, drawn: Sequence[_Series], x: float) -> list[tuple[str, str]]:
        rows = []
        for series in drawn:
            index = nearest(series.points, self._axis, x)
            if index is None:
                continue
            if series.kind == "smoothed":
                average = float(series.smoother(series.points.value)[index])
                rows.append((tr("{label}, smoothed", label=series.label), self._word(average)))
                rows.append((tr("{label}, raw", label=series.label), self._word(float(series.points.value[index]))))
            else:
                rows.append((series.label, self._word(float(series.points.value[index]))))
        return rows
