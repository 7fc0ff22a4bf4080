"""How a model fits this machine: a row for each method that the engine has."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from ui.format import memory, memory_of, number
from ui.tr import tr
from ui.viewmodels.fit import SEQUENCE_LENGTH, Fit, fit_mark, method_label
from ui.widgets.badge import BadgeLabel
from ui.widgets.text import Rule, Text


class FitRows(QWidget):
    """Method, badge, and the memory that decides; the badge explains itself."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        head = QHBoxLayout()
        head.addWidget(Text(tr("Fit on this machine"), size=12, weight=600, tone="tx2"), 1)
        setting = tr("sequence length {length} · micro-batch 1", length=number(SEQUENCE_LENGTH))
        head.addWidget(Text(setting, size=12, tone="tx3"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnMinimumWidth(0, 96)
        self._grid.setColumnStretch(2, 1)
        column.addWidget(Rule())
        column.addSpacing(6)
        column.addLayout(head)
        column.addLayout(self._grid)

    def show_fits(self, fits: Sequence[Fit]) -> None:
        """Replace the rows; without any the whole part is gone."""
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, fit in enumerate(fits):
            mark = fit_mark(fit)
            badge = BadgeLabel(mark.text, mark.state, explanation=mark.why)
            badge.setAccessibleName(f"{method_label(fit.method)}: {mark.text}")
            where = tr("GPU memory") if fit.memory == "device" else tr("RAM")
            self._grid.addWidget(Text(method_label(fit.method), weight=600), row, 0)
            self._grid.addWidget(badge, row, 1)
            self._grid.addWidget(Text(_amount(fit, where), size=12, tone="tx2"), row, 2)
        self.setVisible(bool(fits))


def _amount(fit: Fit, where: str) -> str:
    if fit.planned_bytes <= fit.usable_bytes and fit.usable_bytes < 2**30:
        amount = tr("{used} of {total}", used=memory(fit.planned_bytes), total=memory(fit.usable_bytes))
    else:
        amount = memory_of(fit.planned_bytes, fit.usable_bytes)
    return f"{where} {amount}"
