"""Tabs: words with an underline, each standing for a value."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QTabBar, QWidget


class Tabs(QTabBar):
    """Tabs `(value, label)`. `picked` carries the value when the shown tab changes by mouse or key."""

    picked = Signal(object)

    def __init__(self, name: str, tabs: Iterable[tuple[object, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setExpanding(False)
        self.setDrawBase(False)
        self._values: list[object] = []
        for value, label in tabs:
            self.addTab(label)
            self._values.append(value)
        self.currentChanged.connect(lambda index: self.picked.emit(self._values[index]))

    @property
    def value(self) -> object:
        """The value of the shown tab."""
        return self._values[self.currentIndex()]

    def set_value(self, value: object) -> None:
        """Show the tab of `value` without telling anybody. Raises ValueError for one that is not there."""
        self.blockSignals(True)
        self.setCurrentIndex(self._values.index(value))
        self.blockSignals(False)

    def set_label(self, value: object, label: str) -> None:
        """Change a tab's words, such as its count."""
        self.setTabText(self._values.index(value), label)
