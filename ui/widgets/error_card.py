"""What stands in place of content when something went wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.edge_strip import EdgeStrip
from ui.widgets.text import IconLabel, Text


class ErrorCard(Card):
    """What happened, what is safe, and what to do; the report goes to the clipboard."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._strip = EdgeStrip("bad", parent=self)
        self._report: Callable[[], str] | None = None
        self.body.setContentsMargins(18, 10, 12, 10)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(IconLabel("boxed-cross", "bad", 14))
        self.title_text = Text("", weight=600, wrap=True)
        line.addWidget(self.title_text, 1)
        self.detail = Text("", size=12, tone="tx2", wrap=True)
        self.detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._actions = QHBoxLayout()
        self._actions.setSpacing(6)
        self.copy_button = Button(tr("Copy report"), icon="copy", kind="quiet")
        self.copy_button.clicked.connect(self._copy)
        self.body.addLayout(line)
        self.body.addWidget(self.detail)
        self.body.addLayout(self._actions)

    def show_error(
        self, what: str, detail: str = "", *, actions: Sequence[Button] = (), report: Callable[[], str] | None = None
    ) -> None:
        """Show an error. `report` is asked for its text only when it is copied."""
        self.title_text.setText(what)
        self.detail.setText(detail)
        self.detail.setVisible(bool(detail))
        self._report = report
        while self._actions.count():
            item = self._actions.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None and widget is not self.copy_button:
                widget.deleteLater()
        for action in actions:
            self._actions.addWidget(action)
            action.show()  # a layout shows what it takes in only at the next turn of the event loop
        self._actions.addWidget(self.copy_button)
        self.copy_button.setVisible(report is not None)
        self._actions.addStretch(1)
        self.setAccessibleName(what)
        self.setAccessibleDescription(detail)
        self.setVisible(True)

    def resizeEvent(self, event: object) -> None:
        """The strip keeps the height of the card."""
        self._strip.setGeometry(0, 0, 4, self.height())

    def _copy(self) -> None:
        if self._report is not None:
            QGuiApplication.clipboard().setText(self._report())
