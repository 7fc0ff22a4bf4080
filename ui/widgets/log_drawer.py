"""The log at the bottom of a screen: filters, search, and a toggle that keeps to the newest line."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from ui import theme as themes
from ui.tr import tr
from ui.widgets.field import TextField
from ui.widgets.segmented import SegmentedControl
from ui.widgets.text import Text
from ui.widgets.toggle import Toggle

Kind = Literal["step", "evaluation", "problem", "other"]
MOST_LINES = 20_000


@dataclass(frozen=True)
class LogLine:
    """A line: local time in words, a level such as INFO, what it is about, its text."""

    time: str
    level: str
    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.time}  {self.level:<5} {self.text}"


class _Levels(QSyntaxHighlighter):
    def highlightBlock(self, text: str) -> None:
        theme = themes.current()
        self._paint(0, 8, theme.color("tx3"))
        level = text[10:15].strip()
        token = {"WARN": "warn", "ERROR": "bad", "EVAL": "ac-tx"}.get(level, "tx3")
        self._paint(10, len(level), theme.color(token))

    def _paint(self, start: int, length: int, colour: QColor) -> None:
        form = QTextCharFormat()
        form.setForeground(colour)
        self.setFormat(start, length, form)


class LogDrawer(QWidget):
    """Newest line at the bottom. `buttons` is a layout for buttons at the right of the header."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "bg0")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._lines: deque[LogLine] = deque(maxlen=MOST_LINES)
        options = (
            ("all", tr("All")),
            ("step", tr("Steps")),
            ("evaluation", tr("Evaluation")),
            ("problem", tr("Problems")),
        )
        self.kinds = SegmentedControl(tr("Log lines"), options, small=True)
        self.search = TextField(tr("Filter log"), placeholder=tr("Filter log"), icon="search")
        self.search.setMaximumWidth(180)
        self.follow = Toggle(tr("Follow newest"))
        self.follow.setChecked(True)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setProperty("mono", True)
        self.text.setProperty("flat", True)
        self.text.setAccessibleName(tr("Log"))
        self.text.setMaximumBlockCount(MOST_LINES)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self._levels = _Levels(self.text.document())
        self.buttons = QHBoxLayout()
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(Text(tr("Log"), weight=600))
        head.addWidget(self.kinds)
        head.addWidget(self.search)
        head.addStretch(1)
        head.addWidget(self.follow)
        head.addLayout(self.buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 6, 20, 6)
        column.setSpacing(4)
        column.addLayout(head)
        column.addWidget(self.text, 1)
        self.kinds.picked.connect(lambda kind: self._rebuild())
        self.search.textChanged.connect(lambda text: self._rebuild())
        self.follow.toggled.connect(lambda on: self._to_newest())

    def changeEvent(self, event: QEvent) -> None:
        """The levels' colours follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_levels"):
            self._levels.rehighlight()

    def append(self, lines: Iterable[LogLine]) -> None:
        """Add lines, oldest first."""
        new = list(lines)
        self._lines.extend(new)
        shown = [str(line) for line in new if self._wanted(line)]
        if shown:
            self.text.appendPlainText("\n".join(shown))
            self._to_newest()

    def clear(self) -> None:
        """Forget everything: another run is shown."""
        self._lines.clear()
        self.text.clear()

    def shown_lines(self) -> list[str]:
        """What can be read now."""
        return [line for line in self.text.toPlainText().split("\n") if line]

    def _wanted(self, line: LogLine) -> bool:
        kind = self.kinds.value
        return kind in ("all", line.kind) and self.search.text().strip().lower() in str(line).lower()

    def _rebuild(self) -> None:
        self.text.setPlainText("\n".join(str(line) for line in self._lines if self._wanted(line)))
        self._to_newest()

    def _to_newest(self) -> None:
        if self.follow.isChecked():
            self.text.moveCursor(QTextCursor.MoveOperation.End)
            self.text.moveCursor(QTextCursor.MoveOperation.StartOfBlock)
