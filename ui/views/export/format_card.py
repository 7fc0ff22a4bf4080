"""One format: a tick, what it is, its predicted size, who can load it, and how far it is."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.exports.service import ExportFormat
from ui.format import both_sizes, disk, split_unit
from ui.tr import tr
from ui.views.export.queue import Job
from ui.views.export.words import format_files, format_name, format_use, phase_words
from ui.widgets.badge import BadgeLabel
from ui.widgets.card import Card
from ui.widgets.progress import Progress
from ui.widgets.text import Text
from ui.widgets.toggle import CheckBox


class FormatCard(Card):
    """All of it can be clicked; the keyboard goes to its tick. `ticked` when that changes."""

    ticked = Signal()

    def __init__(self, kind: ExportFormat, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.kind: ExportFormat = kind
        self.tick = CheckBox(format_name(kind))
        self.tick.setAccessibleDescription(format_use(kind))
        self.tick.toggled.connect(self._toggled)
        self._size = Text("", size=18, weight=600)
        self._unit = Text("", size=12, tone="tx2")
        self._bar = Progress(tr("Size of {format}", format=format_name(kind)), 4)
        self._bar.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.state = BadgeLabel("", "neutral")
        self.state_text = Text("", size=12, tone="tx3")
        line = QHBoxLayout()
        line.setSpacing(5)
        line.addWidget(self._size, 0, Qt.AlignmentFlag.AlignBottom)
        line.addWidget(self._unit, 1, Qt.AlignmentFlag.AlignBottom)
        last = QHBoxLayout()
        last.addWidget(self.state)
        last.addWidget(self.state_text, 1)
        self.body.setContentsMargins(14, 8, 14, 12)
        self.body.setSpacing(6)
        self.body.addWidget(self.tick)
        self.body.addWidget(Text(format_files(kind), size=12, tone="tx3", elide=True))
        self.body.addLayout(line)
        self.body.addWidget(self._bar)
        self.body.addWidget(Text(format_use(kind), size=12, tone="tx2", wrap=True))
        self.body.addStretch(1)
        self.body.addLayout(last)
        self.setAccessibleName(format_name(kind))
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_size(self, size: int | None, largest: int) -> None:
        """The predicted size, and its bar on the scale of the largest format."""
        value, unit = split_unit(disk(size)) if size is not None else ("–", "")
        self._size.setText(value)
        self._unit.setText(tr("{unit} predicted", unit=unit) if size is not None else tr("size not known"))
        self._size.setToolTip(both_sizes(size) if size is not None else tr("The base model is not on this disk."))
        self._bar.set_fraction(size / largest if size and largest else 0.0, disk(size) if size is not None else "")

    def set_job(self, job: Job | None) -> None:
        """The state line: what its export is doing, else whether it is selected."""
        texts = {"waiting": tr("Waiting"), "cancelling": tr("Cancelling")}
        text = "" if job is None else texts.get(job.state, "") or phase_words(job.progress)
        self.state.setVisible(job is not None)
        self.state_text.setVisible(job is None)
        if job is not None:
            self.state.set_badge(text, "neutral" if job.state == "waiting" else "accent",
                                 icon="" if job.state == "waiting" else "download")  # fmt: skip
        self.state_text.setText(tr("Selected") if self.tick.isChecked() else tr("Not selected"))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click anywhere ticks or unticks."""
        if self.rect().contains(event.position().toPoint()):
            self.tick.setFocus(Qt.FocusReason.MouseFocusReason)
            self.tick.click()

    def _toggled(self, on: bool) -> None:
        self.set_surface("ticked" if on else "card")
        self.state_text.setText(tr("Selected") if on else tr("Not selected"))
        self.ticked.emit()
