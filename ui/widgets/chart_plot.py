"""The plot inside a chart card: pyqtgraph with the design's axes, a crosshair, and keys."""

from __future__ import annotations

from collections.abc import Callable

import pyqtgraph as pg  # type: ignore[import-untyped]  # pyqtgraph ships no types
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.format import compact, duration, number
from ui.widgets.chart_pens import neutral_pen
from ui.widgets.chart_series import Axis

Word = Callable[[float], str]


class WordedAxis(pg.AxisItem):  # type: ignore[misc]  # untyped base
    """An axis whose ticks go through our number formatter. `word` None keeps pyqtgraph's digits, with our thousands."""

    def __init__(self, orientation: str, word: Word | None = None) -> None:
        super().__init__(orientation)
        self.word = word
        self.enableAutoSIPrefix(False)
        self.setStyle(tickLength=4 if orientation == "bottom" else 0, tickTextOffset=6, autoExpandTextSpace=True)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Words for tick values; under a logarithmic axis the values are exponents."""
        shown = [10.0**value if self.logMode else value * scale for value in values]
        if self.word is not None:
            return [self.word(value) for value in shown]
        digits = 0 if spacing >= 1 else min(6, len(f"{spacing:.6f}".rstrip("0").split(".")[1]))
        return [f"{value:g}" if self.logMode else number(value, digits) for value in shown]


def _round_tokens(count: float) -> str:
    """Ticks are round: "20 k", not "20.0 k"."""
    return compact(count).replace(".0 ", " ")


class ChartPlot(pg.PlotWidget):  # type: ignore[misc]  # untyped base
    """A PlotWidget that keeps to the theme. `hovered` carries x in data units, or None when the pointer left.

    Keys: ← → move the crosshair (Shift: ten times), + and − zoom, 0 shows everything, X asks for the next axis.
    """

    hovered = Signal(object)
    next_axis = Signal()
    moved_by_key = Signal(int)

    def __init__(self, name: str, word: Word | None = None, parent: QWidget | None = None) -> None:
        axes = {"bottom": WordedAxis("bottom"), "left": WordedAxis("left", word)}
        super().__init__(parent=parent, axisItems=axes, background=None)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setMouseEnabled(x=True, y=False)
        self.viewport().setAutoFillBackground(False)
        self.setMinimumHeight(90)
        item = self.getPlotItem()
        item.setContentsMargins(2, 4, 8, 2)
        item.getAxis("left").setZValue(-1000)  # or its grid would lie on the curves
        item.vb.setDefaultPadding(0.02)
        item.vb.enableAutoRange(axis="xy")
        item.vb.setMouseMode(pg.ViewBox.RectMode)
        self.crosshair = pg.InfiniteLine(angle=90, movable=False)
        self.crosshair.setVisible(False)
        self.crosshair.setZValue(50)
        item.addItem(self.crosshair, ignoreBounds=True)
        self._proxy = pg.SignalProxy(self.scene().sigMouseMoved, rateLimit=60, slot=self._mouse_moved)
        self.restyle()

    def set_axis(self, axis: Axis) -> None:
        """Word the x axis as steps, time or tokens."""
        bottom = self.getPlotItem().getAxis("bottom")
        bottom.word = {"step": None, "time": duration, "tokens": _round_tokens}[axis]
        bottom.picture = None
        bottom.update()

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:
        """The well behind the curves and the grid."""
        painter.fillRect(self.getPlotItem().vb.sceneBoundingRect(), themes.current().color("bg1"))

    def restyle(self) -> None:
        """Take colours and text sizes from the theme in force."""
        theme = themes.current()
        item = self.getPlotItem()
        for side in ("bottom", "left"):
            axis = item.getAxis(side)
            axis.setPen(neutral_pen(theme, token="line2"))
            axis.setTextPen(theme.color("axis"))
            axis.setTickFont(text_font(theme.px(11)))
        item.getAxis("left").setPen(pg.mkPen(None))
        item.getAxis("left").setTickPen(theme.color("grid"))
        item.showGrid(x=False, y=True, alpha=1.0)
        self.crosshair.setPen(neutral_pen(theme, token="tx2"))
        self.resetCachedContent()  # the view keeps its painted background

    def show_everything(self) -> None:
        """Back to all points."""
        self.getPlotItem().vb.enableAutoRange(axis="xy")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The chart's own keys; everything else goes on to the window."""
        key = Qt.Key(event.key())
        ten = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.moved_by_key.emit(-ten if key == Qt.Key.Key_Left else ten)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            factor = 1.25 if key == Qt.Key.Key_Minus else 0.8
            self.getPlotItem().vb.scaleBy(x=factor, y=1.0)
        elif key == Qt.Key.Key_0:
            self.show_everything()
        elif key == Qt.Key.Key_X:
            self.next_axis.emit()
        else:
            QWidget.keyPressEvent(self, event)

    def mouseDoubleClickEvent(self, event: QEvent) -> None:
        """A double click shows everything again."""
        self.show_everything()

    def leaveEvent(self, event: QEvent) -> None:
        """The readout goes when the pointer leaves."""
        super().leaveEvent(event)
        self.hovered.emit(None)

    def shutdown(self) -> None:
        """Stop the crosshair's timer; called when the card closes."""
        self._proxy.disconnect()

    def _mouse_moved(self, arguments: tuple[QPointF]) -> None:
        box = self.getPlotItem().vb
        if box.sceneBoundingRect().contains(arguments[0]):
            self.hovered.emit(float(box.mapSceneToView(arguments[0]).x()))
        else:
            self.hovered.emit(None)
