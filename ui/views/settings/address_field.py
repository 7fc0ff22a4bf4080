"""A text that overrides a variable of the surroundings; empty means: as the surroundings have it."""

from __future__ import annotations

import os

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from ui.tr import tr
from ui.widgets.field import TextField


class AddressField(TextField):
    """`edited` carries the text, or None where it was emptied, when Enter is pressed or the field is left."""

    edited = Signal(object)

    def __init__(self, name: str, variable: str, parent: QWidget | None = None) -> None:
        inherited = os.environ.get(variable)
        placeholder = tr("{variable} is {value}", variable=variable, value=inherited) if inherited else tr("the usual")
        super().__init__(name, placeholder=placeholder, mono=True, parent=parent)
        self._value: str | None = None
        self.editingFinished.connect(self._take)

    def set_value(self, value: str | None) -> None:
        """Show `value` without telling anybody."""
        self._value = value
        self.setText(value or "")
        self.setCursorPosition(0)

    def _take(self) -> None:
        value = self.text().strip() or None
        if value != self._value:
            self._value = value
            self.edited.emit(value)
