"""One setting: label, field, the dot that says "changed", the way back, and what is wrong with it."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QEvent, QObject, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from ui import theme as themes
from ui.tr import tr
from ui.widgets.button import IconButton
from ui.widgets.combo import Combo
from ui.widgets.field import TextField
from ui.widgets.painting import paint_dot
from ui.widgets.text import Text
from ui.widgets.toggle import Toggle

Arrangement = Literal["stacked", "wide", "inline"]


class ChangedDot(QWidget):
    """The ember dot, 6 px; keeps its room when it is off so that labels do not jump."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.on = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_on(self, on: bool) -> None:
        """Show or hide the dot."""
        self.on = on
        self.update()

    def sizeHint(self) -> QSize:
        """The dot."""
        return QSize(8, 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The dot."""
        if self.on:
            painter = QPainter(self)
            paint_dot(painter, QPointF(self.rect().center()) + QPointF(0.5, 0.5), 3, themes.current().color("ember"))
            painter.end()


class SettingRow(QWidget):
    """Wraps a field. `reset_wanted` asks for the default; F1 explains; Ctrl R resets.

    Arrangements: `stacked`, the label above the field; `wide`, the row of the Advanced form, with label and help at the
    left and the field at the right; `inline`, the label at the left and a switch at the right.
    """

    reset_wanted = Signal()

    def __init__(
        self,
        label: str,
        field: QWidget,
        *,
        help_text: str = "",
        arrangement: Arrangement = "stacked",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.field = field
        self.label = label
        self._help = help_text
        self._wide = wide = arrangement == "wide"
        self._label = Text(label, size=13 if wide else 12, weight=500, tone="tx1" if wide else "tx2", elide=not wide)
        self._label.setBuddy(field)
        self._dot = ChangedDot()
        self._error = Text("", size=12, tone="bad", wrap=True)
        self._error.setVisible(False)
        self._default = Text("", size=12, tone="tx3")
        self._reset = IconButton("reset", tr("Reset {label}", label=label), size="inline")
        self._reset.clicked.connect(self.reset_wanted)
        self._reset.setVisible(False)
        field.setAccessibleName(label)
        field.setAccessibleDescription(help_text)
        field.setToolTip(help_text)
        field.installEventFilter(self)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._on_field = False
        {"wide": self._lay_out_wide, "inline": self._lay_out_inline, "stacked": self._lay_out_stacked}[arrangement]()

    @property
    def changed(self) -> bool:
        """Whether the ember dot shows."""
        return self._dot.on

    @property
    def error(self) -> str:
        """What the error line says, "" where nothing is wrong."""
        return self._error.text() if not self._error.isHidden() else ""

    def set_changed(self, changed: bool, default: str = "") -> None:
        """Show that the value differs from its default, which is worded in `default`."""
        self._dot.set_on(changed)
        self._dot.setVisible(changed or self._wide)
        self._reset.setVisible(changed)
        self._place_reset()
        name = tr("Reset {label} to {default}", label=self._label.text(), default=default)
        self._reset.set_name(name, "Ctrl R")
        self._default.setText(default if changed else tr("default"))
        help_text = tr("{help} Changed; the default is {default}.", help=self._help, default=default)
        self.field.setAccessibleDescription(help_text if changed else self._help)

    def set_error(self, text: str, full: str = "") -> None:
        """Say below the field what to do, and in `full` (the tooltip) also what is wrong; "" clears it."""
        self._error.setText(text)
        self._error.setToolTip(full)
        self._error.setVisible(bool(text))
        if isinstance(self.field, TextField | Combo):
            self.field.set_invalid(bool(text))

    def set_help(self, text: str) -> None:
        """Explain the setting otherwise (why it cannot be changed here, for example)."""
        self._help = text
        self.field.setToolTip(text)
        self.field.setAccessibleDescription(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """F1 explains the focused field, Ctrl R resets it."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_F1:
                QToolTip.showText(self.field.mapToGlobal(self.field.rect().bottomLeft()), self._help, self.field)
                return True
            if event.key() == Qt.Key.Key_R and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
                self.reset_wanted.emit()
                return True
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The way back lies in the field and follows it."""
        super().resizeEvent(event)
        self._place_reset()

    def showEvent(self, event: QShowEvent) -> None:
        """The field has its place only now."""
        super().showEvent(event)
        self._place_reset()

    def _place_reset(self) -> None:
        if not self._on_field:
            return
        shown, side = not self._reset.isHidden(), self._reset.sizeHint().width()
        if isinstance(self.field, TextField):
            self.field.reserve(side - 4 if shown else 0)
        layout = self.layout()
        assert layout is not None
        layout.activate()  # the row may just have grown a dot or an error
        field = self.field.geometry()
        left = field.right() - side - 2 - (themes.current().px(18) if isinstance(self.field, Combo) else 0)
        self._reset.setGeometry(left, field.center().y() - side // 2, side, side)
        self._reset.raise_()

    def _lay_out_stacked(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        head = QHBoxLayout()
        head.setSpacing(4)
        head.addWidget(self._dot)
        head.addWidget(self._label, 1)
        self._dot.setVisible(False)
        if isinstance(self.field, TextField | Combo):
            self._on_field = True
            self._reset.setParent(self)
            self._reset.setVisible(False)
        else:
            head.addWidget(self._reset)
        column.addLayout(head)
        column.addWidget(self.field)
        column.addWidget(self._error)

    def _lay_out_inline(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addStrut(themes.current().px(24))
        for widget, stretch in ((self._dot, 0), (self._label, 1), (self._reset, 0), (self.field, 0)):
            row.addWidget(widget, stretch)
        self._dot.setVisible(False)
        column.addLayout(row)
        column.addWidget(self._error)

    def _lay_out_wide(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 3, 12, 3)
        row.setSpacing(8)
        row.addWidget(self._dot)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(self._label)
        first = self._help.partition(". ")[0].removesuffix(".")  # the whole is the field's tooltip, and F1's
        column.addWidget(Text(first, size=12, tone="tx3", elide=True))
        column.addWidget(self._error)
        row.addLayout(column, 1)
        row.addWidget(self._reset)
        row.addWidget(self._default)
        self._default.setText(tr("default"))
        if not isinstance(self.field, Toggle):
            self.field.setFixedWidth(themes.current().px(184 if isinstance(self.field, Combo) else 132))
        row.addWidget(self.field)
