"""The pane at the right of a screen: 392 px where there is room, 320 where the window is narrow."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui import theme as themes


class SidePane(QWidget):
    """Give it no stretch; the rest of the row takes what is left."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def sizeHint(self) -> QSize:
        """The design's width."""
        return QSize(themes.current().px(392), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """As narrow as it may become."""
        return QSize(themes.current().px(320), super().minimumSizeHint().height())
