"""What stands in place of content that is not there yet."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ui.widgets.button import Button
from ui.widgets.text import IconLabel, Text


class EmptyState(QWidget):
    """A line icon, what will appear here, and one action."""

    def __init__(
        self, title: str, text: str = "", *, icon: str = "", actions: Sequence[Button] = (), dashed: bool = False
    ) -> None:
        super().__init__()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        frame = QFrame(self)
        frame.setProperty("card", "dashed" if dashed else "")
        outer.addWidget(frame)
        column = QVBoxLayout(frame)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        column.addStretch(1)
        if icon:
            column.addWidget(IconLabel(icon, "tx3", 40), 0, Qt.AlignmentFlag.AlignHCenter)
        self.title = Text(title, size=13 if dashed else 18, weight=600)
        self.text = Text(text, tone="tx2", wrap=True)
        for label in (self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self.title)
        column.addWidget(self.text)
        self.text.setVisible(bool(text))
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        for action in actions:
            row.addWidget(action)
        row.addStretch(1)
        column.addSpacing(4)
        column.addLayout(row)
        column.addStretch(1)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
