"""What was checked on this machine, in a few lines; the doctor has the rest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.bridge import Control
from ui.context import Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.text import IconLabel, Rule, Text
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.machine.doctor import Check

SHOWN = ("gpu", "torch", "memory", "disk", "home")
_ICONS = {
    "good": ("disc-check", "good"), "attention": ("half-disc", "warn"), "bad": ("boxed-cross", "bad"),
    "unknown": ("circle", "tx3"),
}  # fmt: skip


class CheckRow(QWidget):
    """State, name, what was found."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        absent = check.id == "gpu" and not check.arguments.get("count")  # nothing is wrong: the CPU trains
        icon, token = _ICONS["unknown" if absent else check.state]
        found = tr("None found: training runs on the CPU") if absent else check.found
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 16, 6)
        row.setSpacing(12)
        row.addWidget(IconLabel(icon, token, 14))
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(Text(tr(check.label), size=12, weight=600))
        words.addWidget(Text(found, size=12, tone="tx2", elide=True))
        row.addLayout(words, 1)
        self.setAccessibleName(f"{tr(check.label)}: {found}")
        self.setToolTip(check.remedy or check.needed)


class ChecksCard(Card):
    """Runs the doctor's checks off the GUI thread; F5 runs them again. `checked` tells that `found` is new."""

    checked = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(tr("What was checked"), parent=parent)
        self._context = context
        keys = shortcuts(context.services.settings.load().shortcuts)["refresh"].keys
        self.again = Button(tr("Check again"), icon="reset", keys=shown(keys))
        self.again.setAccessibleName(tr("Check again"))
        self.again.clicked.connect(self.check)
        QShortcut(QKeySequence(keys), self).activated.connect(self.check)
        self.add_to_header(self.again)
        self.body.setContentsMargins(0, 4, 0, 4)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(0)
        self._rows.addWidget(self._quiet(tr("Checking")))
        self.body.addLayout(self._rows)
        self.body.addStretch(1)
        self.found: dict[str, Check] = {}

    def check(self) -> None:
        """Look again."""
        home = self._context.services.home
        self.again.setEnabled(False)

        def work(control: Control) -> list[Check]:
            from studio.machine.doctor import examine  # here: it is not needed for the first paint

            return examine(home, os.environ)

        self._context.tasks.run(work, owner=self, on_result=self._show, on_error=self._failed)

    def _show(self, checks: list[Check]) -> None:
        self.again.setEnabled(True)
        self.found = {check.id: check for check in checks}
        self._clear()
        for index, check in enumerate(self.found[name] for name in SHOWN if name in self.found):
            if index:
                self._rows.addWidget(Rule())
            self._rows.addWidget(CheckRow(check))
        self.checked.emit()

    def _failed(self, error: Exception) -> None:
        self.again.setEnabled(True)
        self._clear()
        self._rows.addWidget(self._quiet(str(words_for(error))))

    def _clear(self) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    @staticmethod
    def _quiet(words: str) -> Text:
        text = Text(words, size=12, tone="tx3", wrap=True)
        text.setContentsMargins(16, 8, 16, 8)
        text.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        return text
