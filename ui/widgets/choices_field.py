"""Several of a few: chips that are on or off."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.widgets.chip import Chip, FlowLayout


class ChoicesField(QWidget):
    """Options `(value, label)`; `picked` carries the tuple of values that are on, in the order of the options."""

    picked = Signal(object)

    def __init__(self, name: str, options: Iterable[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        flow = FlowLayout(self, gap=6)
        self._chips: dict[str, Chip] = {}
        for value, label in options:
            chip = Chip(label)
            chip.setAccessibleName(f"{name}: {label}")
            chip.clicked.connect(lambda _checked=False: self.picked.emit(self.value))
            self._chips[value] = chip
            flow.addWidget(chip)

    @property
    def value(self) -> tuple[str, ...]:
        """The values that are on."""
        return tuple(value for value, chip in self._chips.items() if chip.isChecked())

    def set_value(self, values: Iterable[str]) -> None:
        """Turn exactly `values` on without telling anybody."""
        on = set(values)
        for value, chip in self._chips.items():
            chip.setChecked(value in on)
