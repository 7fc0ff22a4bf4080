"""What every page of Settings is: a title, cards of rows, and one way to keep a setting."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from studio.settings import Settings
from ui import theme as themes
from ui.context import Context
from ui.tr import tr
from ui.widgets.card import Card
from ui.widgets.text import Rule, Text
from ui.widgets.toast import Message
from ui.wording import words_for

_WIDTH = 760


class SettingsPage(QWidget):
    """A page. `column` takes its cards; `read` is called each time it is shown."""

    def __init__(self, context: Context, title: str, about: str = "") -> None:
        super().__init__()
        self.context = context
        inside = QWidget()
        inside.setProperty("scrolled", True)
        inside.setMaximumWidth(themes.current().px(_WIDTH))
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(16, 12, 16, 16)
        self.column.setSpacing(12)
        self.column.addWidget(Text(title, size=18, weight=600))
        if about:
            self.column.addWidget(Text(about, tone="tx2", wrap=True))
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inside)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)

    def read(self) -> None:
        """Show what is in force now."""

    def keep(self, then: Callable[[Settings], None] | None = None, /, **values: object) -> None:
        """Save settings off the GUI thread; `then` gets them all as they are afterwards."""
        file = self.context.services.settings
        self.context.tasks.run(
            lambda control: file.change(**values), owner=self, on_result=then, on_error=self.say, touches=("settings",)
        )

    def say(self, error: Exception) -> None:
        """A setting could not be read or kept."""
        words = words_for(error)
        self.context.toast(Message("bad", words.what or tr("The setting was not kept"), words.remedy))


class RowsCard(Card):
    """A card of rows: name and help at the left, the control at the right."""

    def __init__(self, title: str, meta: str = "", parent: QWidget | None = None) -> None:
        super().__init__(title, meta, parent=parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def add_row(self, label: str, help_text: str, field: QWidget, width: int = 0) -> None:
        """One row; `width` in px for fields that would take more."""
        field.setAccessibleDescription(field.accessibleDescription() or help_text)
        if self.body.count():
            self.body.addWidget(Rule())
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(Text(label, weight=500))
        words.addWidget(Text(help_text, size=12, tone="tx3", wrap=True))
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addLayout(words, 1)
        if width:
            field.setFixedWidth(themes.current().px(width))
        row.addWidget(field, 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
