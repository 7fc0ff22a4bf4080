"""All checks under their headings, one of them open at most; and the verdict over them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.machine.doctor import Check
from ui.tr import tr
from ui.views.doctor.check_row import CheckRow
from ui.views.doctor.words import group_names, group_of, ordered, verdict_words
from ui.widgets.badge import shape_of
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.edge_strip import EdgeStrip
from ui.widgets.text import IconLabel, Rule, Text


class VerdictCard(Card):
    """`again_wanted` and `report_wanted`."""

    again_wanted = Signal()
    report_wanted = Signal()

    def __init__(self, keys: str, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._strip = EdgeStrip("neutral", parent=self)
        self.icon = IconLabel("clock", "tx3", 26)
        self.title = Text(tr("Checking this machine"), size=15, weight=600)
        self.counts = Text(tr("A few seconds"), size=12, tone="tx2", wrap=True)
        self.when = Text("", size=12, tone="tx3")
        self.copy = Button(tr("Copy report"), icon="copy", size="medium")
        self.again = Button(tr("Check again"), icon="reset", kind="primary", size="medium", keys=keys)
        self.copy.clicked.connect(self.report_wanted)
        self.again.clicked.connect(self.again_wanted)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(self.title)
        words.addWidget(self.counts)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self.icon)
        row.addLayout(words, 1)
        for widget in (self.when, self.copy, self.again):
            row.addWidget(widget)
        self.body.setContentsMargins(18, 12, 14, 12)
        self.body.addLayout(row)

    def wait(self) -> None:
        """The checks are under way."""
        self.again.setEnabled(False)
        self.copy.setEnabled(False)
        self.when.setText(tr("Checking"))

    def show_checks(self, checks: Sequence[Check], when: str) -> None:
        """The verdict of all checks."""
        title, counts, state = verdict_words(list(checks))
        self.title.setText(title)
        self.counts.setText(counts)
        self.icon.set_icon(shape_of(state), state)
        self._strip.set_state(state)
        self.when.setText(tr("Checked at {time}", time=when))
        self.again.setEnabled(True)
        self.copy.setEnabled(True)
        self.setAccessibleName(f"{title}. {counts}")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The strip keeps the height of the card."""
        super().resizeEvent(event)
        self._strip.setGeometry(0, 0, 4, self.height())


class ChecksCard(Card):
    """`page_wanted` carries a page of Settings."""

    page_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setAccessibleName(tr("Checks"))
        self.setProperty("pane", "checks")
        self.rows: list[CheckRow] = []
        self._inside = QWidget()
        self._inside.setProperty("scrolled", True)
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(self._inside)
        self.body.setContentsMargins(8, 4, 8, 8)
        self.body.addWidget(area)

    def show_checks(self, checks: Sequence[Check]) -> None:
        """Show them; the row that was open stays open."""
        open_id = next((row.check.id for row in self.rows if row.is_open), "")
        focused = next((row.check.id for row in self.rows if row.hasFocus()), "")
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        self.rows = []
        for group, name in enumerate(group_names()):
            found = [check for check in ordered(list(checks)) if group_of(check) == group]
            if found:
                heading = Text(name, size=12, weight=600, tone="tx3")
                heading.setContentsMargins(8, 10, 8, 6)
                self._column.addWidget(heading)
            for check in found:
                self._column.addWidget(Rule())
                self._add(check, open_id, focused)
        self._column.addStretch(1)

    def _add(self, check: Check, open_id: str, focused: str) -> None:
        row = CheckRow(check)
        row.opened.connect(self._only)
        row.page_wanted.connect(self.page_wanted)
        row.set_open(check.id == open_id)
        self.rows.append(row)
        self._column.addWidget(row)
        if check.id == focused:
            row.setFocus(Qt.FocusReason.OtherFocusReason)

    def _only(self, opened: CheckRow) -> None:
        for row in self.rows:
            if row is not opened:
                row.set_open(False)
