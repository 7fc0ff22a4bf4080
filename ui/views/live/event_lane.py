"""The lane below the loss chart: every event at its place on the same x. Arrow keys go from event to event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.format import number
from ui.tr import plural, tr
from ui.viewmodels.run_words import EventWords, event_words
from ui.widgets.chart_pens import marker_path

if TYPE_CHECKING:
    from ui.viewmodels.live_run import Snapshot
    from ui.widgets.chart_plot import ChartPlot
    from ui.widgets.chart_series import Axis

_REACH = 7


class EventLane(QWidget):
    """Small triangles: checkpoints and evaluations; boxes and crosses: what needs a look; rings: commands."""

    def __init__(self, plot: ChartPlot) -> None:
        super().__init__()
        self._plot = plot
        self._events: list[tuple[float, EventWords]] = []
        self._focused = -1
        self.setAccessibleName(tr("Events"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        plot.getPlotItem().vb.sigXRangeChanged.connect(lambda *_: self.update())

    @property
    def shown(self) -> list[EventWords]:
        """The events in the lane, oldest first."""
        return [words for _, words in self._events]

    def show_events(self, shot: Snapshot, axis: Axis) -> None:
        """All events of the run at their places."""
        points = shot.points["loss"]
        xs = points.x(axis)
        found = []
        for row in shot.events:
            words = event_words(row)
            if words is None:
                continue
            at = float(row.step)
            if axis != "step" and len(points):
                at = float(xs[min(int(points.step.searchsorted(row.step)), len(xs) - 1)])
            found.append((at, words))
        self._events = found
        self._focused = min(self._focused, len(found) - 1)
        self.setAccessibleDescription(plural(len(found), "{count} event", "{count} events"))
        self.update()

    def sizeHint(self) -> QSize:
        """24 px high."""
        return QSize(120, themes.current().px(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The marks."""
        theme = themes.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left, right = self._x(self._range()[0]), self._x(self._range()[1])
        painter.fillRect(QRectF(left, 0, right - left, self.height()), theme.color("bg1"))
        painter.setFont(text_font(theme.px(11)))
        painter.setPen(theme.color("tx3"))
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(QRectF(0, 0, left - 6, self.height()), align, tr("events"))
        painter.setClipRect(QRectF(left - 6, 0, right - left + 12, self.height()))
        for index, (at, words) in enumerate(self._events):
            self._paint_mark(painter, QPointF(self._x(at), self.height() / 2), words, index == self._focused)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Tooltips belong to the events."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            near = [words for at, words in self._events if abs(self._x(at) - event.pos().x()) <= _REACH]
            if near:
                QToolTip.showText(event.globalPos(), "\n".join(_text(words) for words in near[-6:]), self)
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """← and → move between events and read them out."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if not step or not self._events:
            super().keyPressEvent(event)
            return
        self._focused = min(max(self._focused + step, 0), len(self._events) - 1)
        at, words = self._events[self._focused]
        self.setAccessibleDescription(_text(words))
        QToolTip.showText(self.mapToGlobal(QPointF(self._x(at), self.height()).toPoint()), _text(words), self)
        self.update()

    def _range(self) -> tuple[float, float]:
        low, high = self._plot.getPlotItem().vb.viewRange()[0]
        return low, high

    def _x(self, at: float) -> float:
        box = self._plot.getPlotItem().vb
        scene = box.mapViewToScene(QPointF(at, 0))
        return float(self.mapFromGlobal(self._plot.mapToGlobal(self._plot.mapFromScene(scene))).x())

    def _paint_mark(self, painter: QPainter, centre: QPointF, words: EventWords, focused: bool) -> None:
        theme = themes.current()
        quiet = words.mark in ("checkpoint", "evaluation")
        ink = theme.color("tx3" if quiet else "tx1")
        painter.setPen(QPen(ink, 1.5))
        painter.setBrush(ink if words.mark in ("checkpoint", "alert") else Qt.BrushStyle.NoBrush)
        if words.mark == "non_finite":
            for way in (-1, 1):
                painter.drawLine(centre + QPointF(-4, 4 * way), centre + QPointF(4, -4 * way))
        else:
            shape = {"checkpoint": "t1", "evaluation": "t1", "alert": "t1", "command": "o"}.get(words.mark, "s")
            painter.drawPath(marker_path(shape, centre, 3 if quiet else 4.5))
        if focused and self.hasFocus():
            painter.setPen(QPen(theme.color("ac"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(centre, 8, 8)


def _text(words: EventWords) -> str:
    head = tr("Step {step}: {title}", step=number(words.step), title=words.title)
    return f"{head}, {words.detail}" if words.detail else head
