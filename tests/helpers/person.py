"""A person at the window: finds things by name, uses mouse and keys, and waits for what can be seen.

Clicks go to the window at the widget's place, so what covers a widget also takes its click. When something that was
waited for does not come, the error carries the runs' logs and events and says where a picture of the window lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QFileDialog,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QWidget,
)
from pytestqt.exceptions import TimeoutError as WaitedTooLong
from pytestqt.qtbot import QtBot

from tests.helpers.qt_walk import find, name_of
from ui.shell.main_window import MainWindow
from ui.widgets.dialog import ConfirmDialog

W = TypeVar("W", bound=QWidget)
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
NONE = Qt.KeyboardModifier.NoModifier
_LEFT = Qt.MouseButton.LeftButton


class Person:
    """Sits at one window over the home at `root`; what is remembered of a failure goes to `notes`."""

    def __init__(self, qtbot: QtBot, window: MainWindow, root: Path, notes: Path) -> None:
        self._qtbot, self.window, self._root, self._notes = qtbot, window, root, notes

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
        """Let the window work until the condition holds. Raises AssertionError with all that was seen meanwhile."""
        try:
            self._qtbot.waitUntil(condition, timeout=round(seconds * 1000))
        except WaitedTooLong:
            raise AssertionError(f"Waited {seconds:.0f} s for: {what}\n{self.evidence()}") from None

    def evidence(self) -> str:
        """A picture's path, what is said on toasts, and the ends of every log and event file."""
        picture = self._notes / "window.png"
        self.window.grab().save(str(picture))
        parts = [f"window: {picture}"]
        parts += [f"toast: {message.title} {message.fact}" for message in self.window.toasts.history]
        return "\n".join([*parts, tails(self._root)])

    def see(self, kind: type[W], name: str, seconds: float = 30.0) -> W:
        """Wait for a widget with this name."""
        self.until(lambda: bool(self._all(kind, name)), f"{kind.__name__} {name!r}", seconds)
        return find(self._top(), kind, name)

    def click(self, name: str, kind: type[QWidget] = QPushButton, inside: QWidget | None = None) -> None:
        """Wait until something of this name can be clicked, and click it; `inside` where there are several."""
        root = inside or self._top()
        self.until(
            lambda: any(w.isEnabled() and w.isVisible() and name_of(w) == name for w in root.findChildren(kind)),
            f"{name!r} to be enabled",
        )
        self.click_at(find(root, kind, name))

    def click_at(self, widget: QWidget, at: QPoint | None = None) -> None:
        """Click on a place of a widget, its middle by default, wherever that lies in its window."""
        self._bring_into_view(widget)
        window = widget.window()
        place = widget.mapTo(window, at or widget.rect().center())
        hit = window.childAt(place)
        assert hit is not None and (hit is widget or widget.isAncestorOf(hit)), (
            f"{name_of(widget)!r} is covered by {type(hit).__name__}\n{self.evidence()}"
        )
        QTest.mouseClick(window.windowHandle(), _LEFT, NONE, place)

    def click_cell(self, table: QAbstractItemView, index: QModelIndex | QPersistentModelIndex) -> None:
        """Click on a cell."""
        table.scrollTo(index)
        self.click_at(table.viewport(), table.visualRect(index).center())

    def type_into(self, name: str, text: str, kind: type[QLineEdit] = QLineEdit) -> None:
        """Click on a field, replace what it holds, and press Enter."""
        field = self.see(kind, name)
        self.click_at(field)
        self.press(Qt.Key.Key_A, CONTROL)
        QTest.keyClicks(field, text)
        self.press(Qt.Key.Key_Return)

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = NONE) -> None:
        """A key of the window in front, to whatever has the focus."""
        if QApplication.activeWindow() is None:
            self.window.activateWindow()
            QTest.qWaitForWindowActive(self.window)
        QTest.keyClick(self._top().windowHandle(), key, modifiers)

    def write(self, text: str) -> None:
        """Type where the focus is."""
        focused = QApplication.focusWidget()
        assert focused is not None, f"nothing has the focus to take {text!r}\n{self.evidence()}"
        QTest.keyClicks(focused, text)

    def tab_to(self, name: str, most: int = 200) -> None:
        """Press Tab until the focus is on something of this name."""
        names = []
        for _ in range(most):
            focused = QApplication.focusWidget()
            names.append(name_of(focused) if focused is not None else "")
            if names[-1] == name:
                return
            self.press(Qt.Key.Key_Tab)
        raise AssertionError(f"Tab does not come to {name!r}, only to {sorted(set(names))}\n{self.evidence()}")

    def until_tab_comes_to(self, name: str) -> None:
        """Press Tab again and again until something of this name is there and has the focus."""

        def come() -> bool:
            focused = QApplication.focusWidget()
            if focused is not None and name_of(focused) == name:
                return True
            self.press(Qt.Key.Key_Tab)
            return False

        self.until(come, f"Tab to come to {name!r}")

    def choosing(self, open_dialog: Callable[[], None], path: Path) -> None:
        """Open Qt's own file dialog by `open_dialog`, type the path and press Enter."""
        turns: list[str] = []

        def answer() -> None:
            dialog = QApplication.activeModalWidget()
            if not isinstance(dialog, QFileDialog):
                return
            field = dialog.findChild(QLineEdit, "fileNameEdit")
            if field is None or len(turns) > 50:
                dialog.reject()  # or its own event loop would never end
                return
            turns.append(field.text())
            if field.text() != str(path):
                field.setCompleter(None)  # type: ignore[arg-type]  # Qt takes null; it would end what is being typed
                field.setFocus()
                field.selectAll()
                QTest.keyClicks(field, str(path))
            else:
                QTest.keyClick(field, Qt.Key.Key_Return)

        timer = QTimer(self.window)
        timer.timeout.connect(answer)
        timer.start(50)
        open_dialog()
        timer.stop()
        assert turns and turns[-1] == str(path), f"the file dialog took {turns}"
        self.window.activateWindow()  # as a window manager does when a dialog closes
        QTest.qWaitForWindowActive(self.window)

    def answer(self, button: str) -> None:
        """Wait for a question and press one of its buttons."""
        self.until(lambda: isinstance(self._top(), ConfirmDialog), f"a question with {button!r}")
        self.click(button)

    def _top(self) -> QWidget:
        """The question that is in front, else the window."""
        dialogs = [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]
        return dialogs[-1] if dialogs else self.window

    def _all(self, kind: type[W], name: str) -> list[W]:
        return [widget for widget in self._top().findChildren(kind) if widget.isVisible() and name_of(widget) == name]

    @staticmethod
    def _bring_into_view(widget: QWidget) -> None:
        """Scroll to it, as a wheel would."""
        parent = widget.parentWidget()
        while parent is not None:
            if isinstance(parent, QScrollArea):
                parent.ensureWidgetVisible(widget)
            parent = parent.parentWidget()


Sit = Callable[[], Person]
"""Sit down at a new window."""


def tails(root: Path, lines: int = 12) -> str:
    """The last lines of every engine's and download's log and of every event file in a home."""
    found: Sequence[Path] = sorted(
        [*root.glob("runs/*/engine.log"), *root.glob("runs/*/events.jsonl"), *root.glob("logs/*")]
    )
    ends = []
    for path in found:
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
            ends.append("\n".join([f"--- {path.relative_to(root)}", *(line[:400] for line in text)]))
    return "\n".join(ends)
