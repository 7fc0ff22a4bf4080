"""Switch, check box and radio button, painted so that they look the same on every platform."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QRadioButton, QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.widgets.painting import paint_dot, rounded, text_width

_GAP = 8


def _size(widget: QCheckBox | QRadioButton, mark_width: int) -> QSize:
    theme = themes.current()
    text = widget.text().replace("&&", "&")
    width = theme.px(mark_width) + (round(text_width(text_font(theme.px(13)), text)) + _GAP + 2 if text else 0)
    return QSize(max(width, 24), max(24, theme.px(24)))


def _paint_text(painter: QPainter, widget: QCheckBox | QRadioButton, x: float) -> None:
    theme = themes.current()
    font = text_font(theme.px(13))
    painter.setFont(font)
    painter.setPen(theme.color("tx2" if widget.isEnabled() else "tx3"))
    room = round(widget.width() - x)
    text = QFontMetrics(font).elidedText(widget.text().replace("&&", "&"), Qt.TextElideMode.ElideRight, room)
    painter.drawText(QRectF(x, 0, room, widget.height()), Qt.AlignmentFlag.AlignVCenter, text)


class CheckBox(QCheckBox):
    """A 15 px box with a tick."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Box and text, at least 24 px to hit."""
        return _size(self, 15)

    def minimumSizeHint(self) -> QSize:
        """The box alone; the text elides."""
        return QSize(24, self.sizeHint().height())

    def hitButton(self, position: QPoint) -> bool:
        """All of the widget can be clicked."""
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        """The box, its tick, the text."""
        theme = themes.current()
        painter = QPainter(self)
        side = theme.px(15)
        box = QRectF(0, (self.height() - side) / 2, side, side)
        on = self.isChecked()
        rounded(painter, box, 3, theme.color("ac" if on else "bg1"), theme.color("ac" if on else "ctl"))
        if on:
            paint_icon(painter, box.adjusted(2, 2, -2, -2), "check", "on-ac")
        elif self.checkState() == Qt.CheckState.PartiallyChecked:
            paint_icon(painter, box.adjusted(2, 2, -2, -2), "minus", "ac")
        _paint_text(painter, self, side + _GAP)
        painter.end()


class RadioButton(QRadioButton):
    """A 15 px ring."""

    def sizeHint(self) -> QSize:
        """Ring and text, at least 24 px to hit."""
        return _size(self, 15)

    def minimumSizeHint(self) -> QSize:
        """The ring alone; the text elides."""
        return QSize(24, self.sizeHint().height())

    def hitButton(self, position: QPoint) -> bool:
        """All of the widget can be clicked."""
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ring and the text."""
        theme = themes.current()
        painter = QPainter(self)
        side = theme.px(15)
        ring = QRectF(0, (self.height() - side) / 2, side, side)
        on = self.isChecked()
        width = 4.5 if on else 1.0
        rounded(painter, ring, side / 2, theme.color("bg1"), theme.color("ac" if on else "ctl"), width)
        _paint_text(painter, self, side + _GAP)
        painter.end()


class Toggle(QCheckBox):
    """A switch, 30 by 16 px; its text stands to the left where there is one, as in the design's rows."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred if text else QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Switch and text, at least 24 px to hit."""
        return _size(self, 30)

    def minimumSizeHint(self) -> QSize:
        """The switch alone; the text elides."""
        return QSize(themes.current().px(30), self.sizeHint().height())

    def hitButton(self, position: QPoint) -> bool:
        """All of the widget can be clicked."""
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text, then the switch at the right edge."""
        theme = themes.current()
        painter = QPainter(self)
        width, height = theme.px(30), theme.px(16)
        track = QRectF(self.width() - width, (self.height() - height) / 2, width, height)
        on = self.isChecked() and self.isEnabled()
        rounded(painter, track, height / 2, theme.color("ac" if on else "bg3"), theme.color("ac" if on else "ctl"))
        inset = height / 2
        centre = QPointF(track.right() - inset if self.isChecked() else track.left() + inset, track.center().y())
        paint_dot(painter, centre, height / 2 - 3, theme.color("on-ac" if on else "tx3"))
        if self.text():
            painter.setClipRect(QRectF(0, 0, track.x() - _GAP, self.height()))
            _paint_text(painter, self, 0)
        painter.end()
