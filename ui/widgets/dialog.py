"""A question with named answers, for stop, delete, overwrite and leaving; the safe answer is the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.widgets.button import Button, Kind
from ui.widgets.text import Text


@dataclass(frozen=True)
class Answer:
    """One answer: what `chosen` will carry, and its button."""

    key: str
    label: str
    kind: Kind = "normal"
    icon: str = ""
    keys: str = ""


class ConfirmDialog(QDialog):
    """The first answer is the safe one: wide, primary, and taken by Enter. Esc takes `escape`."""

    chosen = Signal(str)

    def __init__(
        self, title: str, text: str, answers: Sequence[Answer], *, escape: str = "cancel", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.setModal(True)
        self.setMinimumWidth(400)
        self._escape = escape
        self.answer = ""
        self.buttons: dict[str, Button] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(8)
        column.addWidget(Text(title, size=15, weight=600, wrap=True))
        column.addWidget(Text(text, tone="tx2", wrap=True))
        rest = QHBoxLayout()
        rest.setSpacing(8)
        for index, answer in enumerate(answers):
            kind: Kind = "primary" if index == 0 and answer.kind == "normal" else answer.kind
            button = Button(answer.label, icon=answer.icon, kind=kind, keys=answer.keys)
            button.clicked.connect(lambda _checked=False, key=answer.key: self.choose(key))
            button.setAccessibleName(answer.label.replace("&&", "&"))
            self.buttons[answer.key] = button
            if index == 0:
                button.setDefault(True)
                column.addWidget(button)
            else:
                rest.addWidget(button, 1)
        column.addLayout(rest)
        self.buttons[answers[0].key].setFocus(Qt.FocusReason.OtherFocusReason)

    def choose(self, key: str) -> None:
        """Take an answer and close."""
        self.answer = key
        self.chosen.emit(key)
        self.accept()

    def reject(self) -> None:
        """Esc and the window's cross take the escape answer."""
        self.answer = self._escape
        self.chosen.emit(self._escape)
        super().reject()
