"""One check: state, name, what was found and needed; opens in place with the explanation and the command."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.machine.doctor import Check
from ui import theme as themes
from ui.tr import tr
from ui.views.doctor.words import found_words, help_for, needed_words, state_of, state_words
from ui.widgets.badge import State, shape_of
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.field import TextField
from ui.widgets.text import IconLabel, Text, Tone

_TONES: dict[State, Tone] = {"good": "good", "warn": "warn", "bad": "bad", "accent": "ac-tx", "neutral": "tx2"}


class CheckRow(QWidget):
    """`opened` when the user opens it; `page_wanted` carries the page of Settings that helps."""

    opened = Signal(object)
    page_wanted = Signal(str)

    def __init__(self, check: Check, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.check = check
        self._open = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.help = help_for(check)
        self.details = self._details()
        self.details.setVisible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 4)
        column.setSpacing(6)
        column.addLayout(self._line())
        column.addWidget(self.details)
        state = state_words(check)
        self.setAccessibleName(f"{tr(check.label)}: {state}. {found_words(check)}")
        self.setAccessibleDescription(self.help.text)

    @property
    def is_open(self) -> bool:
        """Whether the explanation shows."""
        return self._open

    def set_open(self, is_open: bool) -> None:
        """Show or hide the explanation without telling anybody."""
        self._open = is_open
        self.details.setVisible(is_open)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click opens or closes."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._toggle()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, Space and F1 open or close; ↑ and ↓ go to the neighbour."""
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_F1):
            self._toggle()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._go(-1 if key == Qt.Key.Key_Up else 1)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The open row lies on the accent's soft ground with a bar at its left."""
        if self._open:
            theme = themes.current()
            painter = QPainter(self)
            painter.fillRect(self.rect(), theme.color("ac-soft"))
            painter.fillRect(QRectF(0, 0, 3, self.height()), theme.color("ac"))
            painter.end()

    def _line(self) -> QHBoxLayout:
        check, state, px = self.check, state_of(self.check), themes.current().px
        word = Text(state_words(check), weight=500, tone=_TONES[state])
        word.setMinimumWidth(px(76))
        name = Text(tr(check.label), weight=500)
        name.setMinimumWidth(px(150))
        facts = QVBoxLayout()
        facts.setSpacing(0)
        facts.addWidget(Text(found_words(check), elide=True))
        if needed_words(check):
            facts.addWidget(Text(needed_words(check), size=12, tone="tx3", elide=True))
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addStrut(px(38))
        line.addWidget(IconLabel(shape_of(state) or "circle", state if state != "neutral" else "tx3", 14))
        line.addWidget(word)
        line.addWidget(name)
        line.addLayout(facts, 1)
        if state in ("warn", "bad"):
            what = Button(tr("What to do"))
            what.setAccessibleName(tr("What to do about {check}", check=tr(check.label)))
            what.clicked.connect(self._toggle)
            line.addWidget(what)
        else:
            line.addWidget(Text(tr("Nothing to do"), size=12, tone="tx3"))
        return line

    def _details(self) -> QWidget:
        well = Card(surface="well")
        well.body.addWidget(Text(self.help.text, tone="tx2", wrap=True))
        line = QHBoxLayout()
        line.setSpacing(8)
        if self.help.command:
            field = TextField(tr("Command"), mono=True)
            field.setText(self.help.command)
            field.setReadOnly(True)
            field.setCursorPosition(0)
            copy = Button(tr("Copy command"), icon="copy", kind="primary")
            copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.help.command))
            line.addWidget(field, 1)
            line.addWidget(copy)
        if self.help.page:
            go = Button(self.help.action, icon="arrow-right")
            go.clicked.connect(lambda: self.page_wanted.emit(self.help.page))
            line.addWidget(go)
            line.addStretch(1)
        if line.count():
            well.body.addLayout(line)
        return well

    def _toggle(self) -> None:
        self.set_open(not self._open)
        if self._open:
            self.opened.emit(self)

    def _go(self, by: int) -> None:
        parent = self.parentWidget()
        rows = parent.findChildren(CheckRow, options=Qt.FindChildOption.FindDirectChildrenOnly) if parent else []
        at = rows.index(self) + by
        if 0 <= at < len(rows):
            rows[at].setFocus(Qt.FocusReason.TabFocusReason)
