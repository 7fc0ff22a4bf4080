"""Several texts, one a line."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from ui import theme as themes


class LinesField(QPlainTextEdit):
    """`edited` carries the tuple of lines that hold something, when the field is left and they have changed."""

    edited = Signal(object)

    def __init__(self, name: str, placeholder: str = "", rows: int = 3, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setTabChangesFocus(True)
        self.setFixedHeight(themes.current().px(18 * rows + 14))
        self._value: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that hold something."""
        return tuple(line.strip() for line in self.toPlainText().splitlines() if line.strip())

    def set_value(self, lines: tuple[str, ...]) -> None:
        """Show `lines` without telling anybody; what is being typed is not disturbed."""
        if lines != self._value or (lines != self.lines and not self.hasFocus()):
            self._value = lines
            self.setPlainText("\n".join(lines))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Leaving takes what was typed."""
        super().focusOutEvent(event)
        if self.lines != self._value:
            self._value = self.lines
            self.edited.emit(self.lines)
