"""Small drawing helpers that several painted widgets share."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

from ui import theme as themes
from ui.fonts import mono_font


def rounded(
    painter: QPainter,
    rect: QRectF,
    radius: float,
    fill: QColor | None,
    outline: QColor | None = None,
    width: float = 1.0,
) -> None:
    """A rounded rectangle whose outline lies inside `rect`, sharp at every scale."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    inset = width / 2 if outline is not None else 0.0
    painter.setPen(QPen(outline, width) if outline is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), radius - inset, radius - inset)
    painter.restore()


def text_width(font: QFont, text: str) -> float:
    """The advance of `text` in logical pixels."""
    return QFontMetricsF(font).horizontalAdvance(text)


def keycap_size(text: str) -> QSize:
    """The size of a key cap such as "Ctrl K"."""
    theme = themes.current()
    return QSize(round(text_width(mono_font(theme.px(12), 500), text)) + 10, theme.px(18))


def paint_keycap(painter: QPainter, rect: QRectF, text: str, outline: QColor, ink: QColor, fill: QColor | None) -> None:
    """A key cap filling `rect`."""
    rounded(painter, rect, 4, fill, outline)
    painter.setFont(mono_font(themes.current().px(12), 500))
    painter.setPen(ink)
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)


def paint_dot(painter: QPainter, centre: QPointF, radius: float, colour: QColor) -> None:
    """A filled disc."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawEllipse(centre, radius, radius)
    painter.restore()


def refresh_style(widget: QWidget) -> None:
    """Make the style sheet look again after a dynamic property changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()
