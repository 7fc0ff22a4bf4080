"""Surfaces: cards with a header, wells, key figures, and rows of name and value."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from ui.format import split_unit
from ui.widgets.painting import refresh_style
from ui.widgets.text import Text, Tone

Surface = Literal["card", "well", "selected", "accent", "dialog", "dashed", "warn", "ticked"]


class Card(QFrame):
    """A card: an optional header with title, quiet meta text and widgets at the right; `body` is a vertical layout."""

    def __init__(
        self, title: str = "", meta: str = "", *, surface: Surface = "card", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.set_surface(surface)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 1, 1, 1)
        outer.setSpacing(0)
        self.title = Text(title, weight=600)
        self.meta = Text(meta, size=12, tone="tx3", elide=True)
        self.header = QHBoxLayout()
        self.header.setContentsMargins(12, 8, 12, 6)
        self.header.setSpacing(8)
        self.body = QVBoxLayout()
        self.body.setSpacing(8)
        if title:
            self.header.addWidget(self.title)
            self.header.addWidget(self.meta, 1)
            outer.addLayout(self.header)
            self.body.setContentsMargins(12, 0, 12, 12)
            self.setAccessibleName(title)
        else:
            self.body.setContentsMargins(12, 10, 12, 10)
        outer.addLayout(self.body, 1)

    def set_surface(self, surface: Surface) -> None:
        """Draw it as another kind of surface."""
        self.setProperty("card", "true" if surface == "card" else surface)
        refresh_style(self)

    def add_to_header(self, widget: QWidget) -> None:
        """Put a widget at the right end of the header."""
        self.header.addWidget(widget)


class KeyFigure(QWidget):
    """A figure that matters: label, value with a smaller unit, and a quiet note below."""

    def __init__(self, label: str, note: str = "", *, small: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        self._label = Text(label, size=12, tone="tx3")
        self._value = Text("", size=15 if small else 18, weight=600)
        self._unit = Text("", size=12, tone="tx2")
        self._note = Text(note, size=12, tone="tx2")
        line = QHBoxLayout()
        line.setSpacing(5)
        line.addWidget(self._value, 0, Qt.AlignmentFlag.AlignBottom)
        line.addWidget(self._unit, 0, Qt.AlignmentFlag.AlignBottom)
        line.addStretch(1)
        column.addWidget(self._label)
        column.addLayout(line)
        column.addWidget(self._note)
        self._note.setVisible(bool(note))
        self.set_value("")

    @property
    def text(self) -> str:
        """Value and unit as one text."""
        return f"{self._value.text()} {self._unit.text()}".strip()

    def set_value(self, text: str, note: str | None = None) -> None:
        """A worded quantity such as "37.1 s"; the unit is set smaller. An empty text shows a dash."""
        value, unit = split_unit(text) if text else ("–", "")
        self._value.setText(value)
        self._unit.setText(unit)
        if note is not None:
            self._note.setText(note)
            self._note.setVisible(bool(note))
        self.setAccessibleName(f"{self._label.text()}: {self.text}")

    def explain(self, text: str) -> None:
        """Say what the figure is: by hover, and by F1 where Tab stops at it."""
        self.setToolTip(text)
        self.setAccessibleDescription(text)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def set_tone(self, tone: Tone) -> None:
        """Colour the value."""
        self._value.set_tone(tone)


class NameValues(QWidget):
    """Rows of a quiet name and its value, 112 px for the names."""

    def __init__(self, name_width: int = 112, *, right: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnMinimumWidth(0, name_width)
        self._grid.setColumnStretch(1, 1)
        self._right = right
        self._values: dict[str, Text] = {}

    def set_row(self, name: str, value: str, *, mono: bool = False) -> None:
        """Add a row, or change the value of one."""
        if name not in self._values:
            row = len(self._values)
            label = Text(name, size=12, tone="tx3")
            text = Text(value, size=12, mono=mono, wrap=not self._right, weight=500 if self._right else 400)
            if self._right:
                text.setAlignment(Qt.AlignmentFlag.AlignRight)
            self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(text, row, 1, Qt.AlignmentFlag.AlignTop)
            self._values[name] = text
        self._values[name].setText(value)
        self._values[name].setAccessibleName(f"{name}: {value}")
