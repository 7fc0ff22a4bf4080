"""One of two to four options, side by side."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QSizePolicy, QToolButton, QWidget


class SegmentedControl(QFrame):
    """Options `(value, label)`; `picked` carries the value that the user chose. Arrow keys move between them."""

    picked = Signal(object)

    def __init__(
        self, name: str, options: Iterable[tuple[object, str]], *, small: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setProperty("segmented", True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._values: list[object] = []
        row = QHBoxLayout(self)
        row.setContentsMargins(1, 1, 1, 1)
        row.setSpacing(0)
        for value, label in options:
            button = QToolButton(self)
            button.setText(label)
            button.setAccessibleName(f"{name}: {label}")
            button.setCheckable(True)
            button.setProperty("segment", True)
            button.setProperty("small", small)
            button.setSizePolicy(QSizePolicy.Policy.MinimumExpanding, QSizePolicy.Policy.Expanding)  # never cut
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self._group.addButton(button, len(self._values))
            self._values.append(value)
            row.addWidget(button, 1)
        if self._values:
            self._group.button(len(self._values) - 1).setProperty("last", True)
            self._group.button(0).setChecked(True)
        self._group.idClicked.connect(lambda index: self.picked.emit(self._values[index]))

    @property
    def value(self) -> object:
        """The option that is on."""
        index = self._group.checkedId()
        return self._values[index] if index >= 0 else None

    def set_value(self, value: object) -> None:
        """Turn an option on without telling anybody. Raises ValueError for one that is not there."""
        self._group.button(self._values.index(value)).setChecked(True)

    def button(self, value: object) -> QToolButton:
        """The button of one option, to disable it or to give it a tooltip."""
        found = self._group.button(self._values.index(value))
        assert isinstance(found, QToolButton)
        return found

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """← and → choose the neighbour."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        target = self._group.checkedId() + step
        if step and 0 <= target < len(self._values) and self._group.button(target).isEnabled():
            self._group.button(target).setFocus(Qt.FocusReason.TabFocusReason)
            self._group.button(target).click()
        else:
            super().keyPressEvent(event)
