"""Pens, brushes and markers of charts, from the theme: colour, dash and marker are fixed per slot."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from ui.theme import Theme

DASHES: tuple[tuple[float, ...], ...] = (
    (), (7, 3), (2, 2.5), (9, 3, 2, 3), (12, 3, 2, 3, 2, 3), (4, 4), (1, 3), (14, 4),
)  # fmt: skip
MARKERS = ("o", "s", "t1", "d", "o", "s", "t1", "d")


def series_pen(theme: Theme, slot: int, width: float = 2.0) -> QPen:
    """The pen of slot 1 to 8. Dashes are given in px and Qt counts in pen widths, so they are divided."""
    pen = QPen(QColor(theme.series[slot - 1]), width)
    pen.setCosmetic(True)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    dash = DASHES[slot - 1]
    pen.setCapStyle(Qt.PenCapStyle.FlatCap if dash else Qt.PenCapStyle.RoundCap)
    if dash:
        pen.setDashPattern([part / width for part in dash])
    return pen


def raw_pen(theme: Theme, slot: int) -> QPen:
    """The faint line behind the smoothed one: 1 px, 38 % alpha."""
    colour = QColor(theme.series[slot - 1])
    colour.setAlphaF(theme.raw_alpha)
    pen = QPen(colour, 1)
    pen.setCosmetic(True)
    return pen


def neutral_pen(theme: Theme, dashed: bool = False, token: str = "tx2") -> QPen:
    """Limits, events and the crosshair are neutral, so that amber and green only ever mean a state."""
    pen = QPen(theme.color(token), 1)
    pen.setCosmetic(True)
    if dashed:
        pen.setDashPattern([4, 3])
    return pen


def marker_path(marker: str, centre: QPointF, radius: float) -> QPainterPath:
    """The outline of a slot's marker: circle, square, triangle or diamond."""
    path = QPainterPath()
    x, y = centre.x(), centre.y()
    if marker == "o":
        path.addEllipse(centre, radius, radius)
    elif marker == "s":
        path.addRect(QRectF(x - radius, y - radius, 2 * radius, 2 * radius))
    else:
        corners = {
            "t1": [(0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
            "d": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
        }[marker]
        path.addPolygon(QPolygonF([QPointF(x + dx * radius, y + dy * radius) for dx, dy in corners]))
        path.closeSubpath()
    return path


def paint_series_sample(painter: QPainter, rect: QRectF, theme: Theme, slot: int, *, marker: bool = True) -> None:
    """A short piece of a series with its marker, for legends and table cells."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    middle = rect.center().y()
    painter.setPen(series_pen(theme, slot))
    painter.drawLine(QPointF(rect.left(), middle), QPointF(rect.right(), middle))
    if marker:
        painter.setPen(QPen(QColor(theme.series[slot - 1]), 1.5))
        painter.setBrush(theme.color("bg2"))
        painter.drawPath(marker_path(MARKERS[slot - 1], rect.center(), 3))
    painter.restore()
