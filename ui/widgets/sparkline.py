"""A line 72 by 18 px without axes, as a widget and as a table delegate."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from ui import theme as themes
from ui.widgets.cells import Index, paint_cell_background
from ui.widgets.chart_pens import series_pen

VALUES_ROLE = Qt.ItemDataRole.UserRole + 20
SLOT_ROLE = Qt.ItemDataRole.UserRole + 21
_MOST = 60


def thin(values: Sequence[float]) -> list[float]:
    """At most 60 values, evenly picked, the last one always among them."""
    finite = [value for value in values if value == value]
    if len(finite) <= _MOST:
        return finite
    step = (len(finite) - 1) / (_MOST - 1)
    return [finite[round(index * step)] for index in range(_MOST)]


def spark_path(values: Sequence[float], rect: QRectF) -> QPainterPath:
    """The line through `values` (oldest first) filling `rect`, lowest value at the bottom."""
    path = QPainterPath()
    shown = thin(values)
    if len(shown) < 2:
        return path
    low, high = min(shown), max(shown)
    for index, value in enumerate(shown):
        share = (value - low) / (high - low) if high > low else 0.5
        point = QPointF(rect.x() + rect.width() * index / (len(shown) - 1), rect.bottom() - rect.height() * share)
        if index:
            path.lineTo(point)
        else:
            path.moveTo(point)
    return path


def paint_spark(painter: QPainter, rect: QRectF, values: Sequence[float], slot: int | None) -> None:
    """The line in the run's colour and dash, or neutral without a slot."""
    theme = themes.current()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(series_pen(theme, slot, 1.5) if slot else QPen(theme.color("tx2"), 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(spark_path(values, rect))
    painter.restore()


class Sparkline(QWidget):
    """A sparkline by itself; the values in words belong beside it."""

    def __init__(self, name: str, slot: int | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slot = slot
        self._values: list[float] = []
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_values(self, values: Sequence[float]) -> None:
        """Values, oldest first."""
        self._values = thin(values)
        self.update()

    def sizeHint(self) -> QSize:
        """72 by 18 px."""
        return QSize(72, 18)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line."""
        painter = QPainter(self)
        paint_spark(painter, QRectF(self.rect()).adjusted(1, 2, -1, -2), self._values, self._slot)
        painter.end()


class SparkDelegate(QStyledItemDelegate):
    """Cells with a list of values in VALUES_ROLE and a slot, or None, in SLOT_ROLE."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The row's ground and the line."""
        paint_cell_background(painter, option, index)
        values = index.data(VALUES_ROLE) or []
        rect = QRectF(option.rect)
        box = QRectF(rect.x() + 8, rect.center().y() - 8, min(72.0, rect.width() - 16), 16)
        paint_spark(painter, box, values, index.data(SLOT_ROLE))
