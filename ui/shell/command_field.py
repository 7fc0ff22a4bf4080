"""The command field: type a few letters of an action, a run or a setting, and press Enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QFrame, QListView, QVBoxLayout, QWidget

from ui.context import Command
from ui.icons import icon
from ui.shortcuts import shown
from ui.tr import tr
from ui.widgets.field import TextField

_MOST = 12


def score(typed: str, text: str) -> int | None:
    """How well the letters of `typed` occur in order in `text`: lower is better, None where they do not."""
    position, cost, lowered = 0, 0, text.lower()
    for letter in typed.lower():
        if letter.isspace():
            continue
        found = lowered.find(letter, position)
        if found < 0:
            return None
        starts_word = found == 0 or not lowered[found - 1].isalnum()
        cost += 0 if starts_word or found == position else found - position + 1
        position = found + 1
    return cost


def matching(typed: str, commands: Sequence[Command]) -> list[Command]:
    """The commands that fit, best first, at most twelve."""
    scored = [(score(typed, f"{command.label} {command.detail}"), index) for index, command in enumerate(commands)]
    fitting = sorted((cost, index) for cost, index in scored if cost is not None)
    return [commands[index] for _, index in fitting[:_MOST]]


class CommandField(TextField):
    """A field with a list below it. `provide` is asked for the commands each time that the field is opened."""

    def __init__(self, provide: Callable[[], Sequence[Command]], window: QWidget, keys: str = "Ctrl+K") -> None:
        label = tr("Search actions, runs, settings")
        super().__init__(label, placeholder=label, icon="search", keys=shown(keys), parent=window)
        self._provide = provide
        self._commands: Sequence[Command] = ()
        self._shown: list[Command] = []
        self._popup = QFrame(window)
        self._popup.setProperty("card", "dialog")
        self._popup.hide()
        column = QVBoxLayout(self._popup)
        column.setContentsMargins(4, 4, 4, 4)
        self._list = QListView()
        self._list.setAccessibleName(tr("Found commands"))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self._model = QStandardItemModel(self)
        self._list.setModel(self._model)
        column.addWidget(self._list)
        self.textChanged.connect(self._filter)
        self._list.clicked.connect(lambda index: self._run(index.row()))

    @property
    def offered(self) -> list[Command]:
        """What the list shows now."""
        return self._shown if self._popup.isVisible() else []

    def open(self) -> None:
        """Take the focus and show everything."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()
        self._commands = self._provide()
        self._filter(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """↑ ↓ choose, Enter runs, Esc closes."""
        key = event.key()
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self._shown:
            step = -1 if key == Qt.Key.Key_Up else 1
            row = (self._list.currentIndex().row() + step) % len(self._shown)
            self._list.setCurrentIndex(self._model.index(row, 0))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run(max(0, self._list.currentIndex().row()))
        elif key == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QEvent) -> None:
        """Opened by Tab or a click, the list is there too."""
        super().focusInEvent(event)  # type: ignore[arg-type]  # Qt hands a QFocusEvent
        self._commands = self._provide()

    def focusOutEvent(self, event: QEvent) -> None:
        """Leaving closes the list."""
        super().focusOutEvent(event)  # type: ignore[arg-type]  # Qt hands a QFocusEvent
        self._popup.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Nothing is filtered; the list takes no focus."""
        return False

    def _filter(self, typed: str) -> None:
        self._shown = matching(typed, self._commands)
        self._model.clear()
        for command in self._shown:
            detail = f"   {command.detail}" if command.detail else ""
            keys = f"   {shown(command.keys)}" if command.keys else ""
            item = QStandardItem(icon(command.icon), f"{command.label}{detail}{keys}")
            self._model.appendRow(item)
        if self._shown and self.hasFocus():
            self._list.setCurrentIndex(self._model.index(0, 0))
            corner = self.mapTo(self.window(), QPoint(0, self.height() + 4))
            if self._popup.parentWidget() is not self.window():
                self._popup.setParent(self.window())
            self._popup.setGeometry(
                corner.x(), corner.y(), max(360, self.width()), self._list.sizeHintForRow(0) * len(self._shown) + 12
            )
            self._popup.show()
            self._popup.raise_()
        else:
            self._popup.hide()

    def _run(self, row: int) -> None:
        if 0 <= row < len(self._shown):
            command = self._shown[row]
            self._close()
            command.run()

    def _close(self) -> None:
        self.clear()
        self._popup.hide()
        self.clearFocus()
