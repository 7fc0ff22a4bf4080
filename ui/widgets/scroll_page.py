"""A page that shrinks to its least height and scrolls below that."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget


class ScrollPage(QWidget):
    """Put a layout in, and show `area`. A QScrollArea would else give wrapped text and charts the height they like
    best, and scroll in a window that has room for all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("scrolled", "true")
        self.area = QScrollArea()
        self.area.setWidget(self)
        self.area.setWidgetResizable(True)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def heightForWidth(self, width: int) -> int:
        """The least height, whatever the width."""
        return self.minimumHeight()
