"""The coloured strip that tells a card's state."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from ui import theme as themes
from ui.widgets.badge import State

_EDGE = {"good": "good", "warn": "warn", "bad": "bad", "accent": "ac", "neutral": "line2"}


class EdgeStrip(QWidget):
    """The strip at the left of a card; its own child, because one-sided QSS borders with a radius render badly."""

    def __init__(self, state: State, width: int = 4, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state: State = state
        self.setFixedWidth(width)

    def set_state(self, state: State) -> None:
        """Take another state's colour."""
        self._state = state
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Round at the left, straight at the right."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(themes.current().color(_EDGE[self._state]))
        painter.drawRoundedRect(QRectF(0, 0, self.width() * 3, self.height()), 7, 7)
        painter.end()
