"""What a model's config.json tells, in two columns of name and value."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from ui.tr import tr
from ui.widgets.text import Rule, Text


class ArchitectureRows(QWidget):
    """Gone where nothing is told, as for a gated model."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnMinimumWidth(0, 76)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(3, 1)
        column.addWidget(Rule())
        column.addSpacing(6)
        column.addWidget(Text(tr("Architecture"), size=12, weight=600, tone="tx2"))
        column.addLayout(self._grid)

    def show_rows(self, rows: tuple[tuple[str, str], ...]) -> None:
        """(name, value), read line by line."""
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for index, (name, value) in enumerate(rows):
            line, side = divmod(index, 2)
            text = Text(value, size=12, mono=index == 0 and name == tr("Class"), elide=index == 0)
            text.setAccessibleName(f"{name}: {value}")
            self._grid.addWidget(Text(name, size=12, tone="tx3"), line, 2 * side)
            self._grid.addWidget(text, line, 2 * side + 1)
        self.setVisible(bool(rows))
