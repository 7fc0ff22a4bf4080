"""A warning in a pane: what is so, what to do, a link to the page, and one button."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.text import IconLabel, Text


class NoticeCard(Card):
    """Hidden until there is something to say. `action` is its button; the link opens in the browser."""

    action = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(surface="warn", parent=parent)
        self.what = Text("", size=12, weight=600, tone="warn", wrap=True)
        self.remedy = Text("", size=12, tone="tx2", wrap=True)
        self.remedy.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(IconLabel("warning", "warn", 14), 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.what, 1)
        self.link = Button("", icon="external", kind="normal")
        self.button = Button("", kind="quiet")
        self._address = ""
        self.link.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._address)))
        self.button.clicked.connect(self.action)
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        buttons.addWidget(self.link)
        buttons.addWidget(self.button)
        buttons.addStretch(1)
        self.body.addLayout(line)
        self.body.addWidget(self.remedy)
        self.body.addLayout(buttons)
        self.hide()

    def show_notice(
        self, what: str, remedy: str = "", *, link: str = "", link_text: str = "", action: str = ""
    ) -> None:
        """Say it. Without `link` or `action` their buttons are gone."""
        self.what.setText(what)
        self.remedy.setText(remedy)
        self.remedy.setVisible(bool(remedy))
        self._address = link
        self.link.setText(link_text)
        self.link.setVisible(bool(link))
        self.link.setToolTip(tr("Opens {address} in your browser.", address=link) if link else "")
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self.setAccessibleName(what)
        self.setAccessibleDescription(remedy)
        self.show()
