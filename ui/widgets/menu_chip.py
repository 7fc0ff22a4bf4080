"""A chip that picks one of a few: "Size: any", with the choices in a menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from ui.tr import tr
from ui.widgets.chip import Chip


class MenuChip(Chip):
    """`choices` are (value, label); the first is the one that filters nothing, and leaves the chip off."""

    picked = Signal(object)

    def __init__(self, name: str, choices: Sequence[tuple[object, str]], parent: QWidget | None = None) -> None:
        super().__init__(name, menu=True, parent=parent)
        self._name, self._choices = name, list(choices)
        self._value = choices[0][0]
        self._menu_of_choices = QMenu(self)
        self._menu_of_choices.setAccessibleName(name)
        group = QActionGroup(self._menu_of_choices)
        for value, label in choices:
            action = self._menu_of_choices.addAction(label)
            action.setCheckable(True)
            group.addAction(action)
            action.triggered.connect(lambda _checked=False, value=value: self._pick(value))
        self.clicked.connect(self._open)
        self.set_value(self._value)

    @property
    def value(self) -> object:
        """What is picked."""
        return self._value

    @property
    def choices_menu(self) -> QMenu:
        """The menu that a click opens."""
        return self._menu_of_choices

    def set_value(self, value: object) -> None:
        """Show a value without telling anybody. Raises ValueError for one that is no choice."""
        row = [choice for choice, _ in self._choices].index(value)
        self._value = value
        self._menu_of_choices.actions()[row].setChecked(True)
        self.setText(tr("{name}: {choice}", name=self._name, choice=self._choices[row][1]))
        self.setAccessibleName(self.text())
        self.setChecked(row > 0)
        self.updateGeometry()

    def _pick(self, value: object) -> None:
        self.set_value(value)
        self.picked.emit(value)

    def _open(self) -> None:
        self.set_value(self._value)  # the click has toggled the chip, but only the menu decides
        self._menu_of_choices.popup(self.mapToGlobal(QPoint(0, self.height() + 4)))
