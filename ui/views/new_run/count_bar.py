"""How far the counting of the data is, with its end at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.format import about, disk, number
from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.progress import Progress
from ui.widgets.text import Text

if TYPE_CHECKING:
    from studio.datasets import DataProgress


class CountBar(Card):
    """`cancelled`: stop counting; `wanted`: count after all. Hidden while there is nothing to say."""

    cancelled = Signal()
    wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._text = Text("", size=12, tone="tx2")
        self.bar = Progress(tr("Counting the data"))
        self.cancel = Button(tr("Cancel"), kind="quiet")
        self.cancel.setAccessibleName(tr("Cancel counting"))
        self.cancel.clicked.connect(self.cancelled)
        self.again = Button(tr("Count now"))
        self.again.clicked.connect(self.wanted)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self._text)
        row.addWidget(self.bar, 1)
        row.addWidget(self.cancel)
        row.addWidget(self.again)
        self.body.addLayout(row)
        self.body.setContentsMargins(12, 4, 8, 4)
        self.hide()

    def show_progress(self, progress: DataProgress) -> None:
        """Phase, how many of how many, and how long still."""
        phases = {"reading": tr("Reading"), "tokenising": tr("Tokenising"), "packing": tr("Packing")}
        word = disk if progress.unit == "bytes" else number
        unit = "" if progress.unit == "bytes" else f" {tr(progress.unit)}"
        parts = [phases.get(progress.phase, progress.phase)]
        if progress.total:
            parts.append(tr("{done} of {total}", done=word(progress.done), total=word(progress.total)) + unit)
        if progress.remaining_seconds is not None:
            parts.append(tr("{time} left", time=about(progress.remaining_seconds)))
        text = " · ".join(parts)
        self._show(text, counting=True)
        self.bar.set_fraction(progress.done / progress.total if progress.total else 0.0, text)

    def show_stopped(self) -> None:
        """A person has ended the counting."""
        self._show(tr("Counting was stopped. A launch needs it."), counting=False)

    def _show(self, text: str, *, counting: bool) -> None:
        self._text.setText(text)
        self.bar.setVisible(counting)
        self.cancel.setVisible(counting)
        self.again.setVisible(not counting)
        self.setAccessibleName(text)
        self.show()
