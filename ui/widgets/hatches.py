"""Memory categories: a colour, a hatch and a label each, so that none is told by colour alone."""

from __future__ import annotations

from typing import Literal, get_args

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from ui.theme import Theme
from ui.tr import tr

Category = Literal["weights", "adapters", "gradients", "optimizer", "activations", "workspace", "other", "free"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
_SOLID = CATEGORIES[:6]


def category_label(category: Category) -> str:
    """The category in words."""
    return {
        "weights": tr("weights"),
        "adapters": tr("adapters"),
        "gradients": tr("gradients"),
        "optimizer": tr("optimizer"),
        "activations": tr("activations"),
        "workspace": tr("workspace"),
        "other": tr("other programs"),
        "free": tr("free"),
    }[category]


def paint_category(painter: QPainter, rect: QRectF, category: Category, theme: Theme, radius: float = 3) -> None:
    """Fill `rect` as one segment of `category`; hatches are drawn as lines, so they are sharp at every scale."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    radius = min(radius, rect.width() / 2, rect.height() / 2)
    outlined = category not in _SOLID
    box = rect.adjusted(0.5, 0.5, -0.5, -0.5) if outlined and rect.width() > 2 else rect
    path = QPainterPath()
    path.addRoundedRect(box, radius, radius)
    if outlined:
        painter.setPen(QPen(theme.color("line2"), 1))
        painter.setBrush(theme.color("bg4" if category == "other" else "free"))
    else:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.memory[_SOLID.index(category)]))
    painter.drawPath(path)
    if theme.patterns or outlined:
        painter.setClipPath(path)
        _hatch(painter, rect, category, theme)
    painter.restore()


def _hatch(painter: QPainter, rect: QRectF, category: Category, theme: Theme) -> None:
    ink = QColor(theme.hatch)
    ink.setAlphaF(theme.hatch_alpha)
    if category == "adapters":
        _lines(painter, rect, QPen(ink, 1.6), 5, vertical=True)
    elif category == "activations":
        _lines(painter, rect, QPen(ink, 1.4), 4, vertical=False)
    elif category == "gradients":
        _diagonals(painter, rect, QPen(ink, 2), 8.5)
    elif category == "optimizer":
        _dots(painter, rect, ink)
    elif category == "workspace":
        _diagonals(painter, rect, QPen(ink, 1.1), 6)
        _diagonals(painter, rect, QPen(ink, 1.1), 6, rising=False)
    elif category in ("other", "free"):
        _diagonals(painter, rect, QPen(theme.color("line2"), 1), 9.9)


def _lines(painter: QPainter, rect: QRectF, pen: QPen, step: float, *, vertical: bool) -> None:
    painter.setPen(pen)
    at = pen.widthF() / 2
    while at < (rect.width() if vertical else rect.height()):
        if vertical:
            painter.drawLine(QPointF(rect.x() + at, rect.top()), QPointF(rect.x() + at, rect.bottom()))
        else:
            painter.drawLine(QPointF(rect.left(), rect.y() + at), QPointF(rect.right(), rect.y() + at))
        at += step


def _diagonals(painter: QPainter, rect: QRectF, pen: QPen, step: float, *, rising: bool = True) -> None:
    painter.setPen(pen)
    height = rect.height()
    at = -height
    while at < rect.width():
        x = rect.x() + at
        start, end = (rect.bottom(), rect.top()) if rising else (rect.top(), rect.bottom())
        painter.drawLine(QPointF(x, start), QPointF(x + height, end))
        at += step


def _dots(painter: QPainter, rect: QRectF, ink: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    y = rect.y() + 2.5
    while y < rect.bottom():
        x = rect.x() + 2.5
        while x < rect.right():
            painter.drawEllipse(QPointF(x, y), 1.1, 1.1)
            x += 5
        y += 5
