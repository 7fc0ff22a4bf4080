"""Short messages at the bottom right; at most three, and all of them stay in the bell's list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ui import theme as themes
from ui.tr import tr
from ui.widgets.badge import State, shape_of
from ui.widgets.button import Button, IconButton
from ui.widgets.edge_strip import EdgeStrip
from ui.widgets.text import IconLabel, Text

MOST = 3
SHOWN_MILLISECONDS = 8000


@dataclass(frozen=True)
class Message:
    """A state, a title, a fact, and at most one action."""

    state: State
    title: str
    fact: str = ""
    action: str = ""
    on_action: Callable[[], None] | None = None


class Toast(QFrame):
    """One message. Errors stay until closed; others go after 8 s unless they have the focus or the pointer."""

    closed = Signal()

    def __init__(self, message: Message, parent: QWidget) -> None:
        super().__init__(parent)
        self.message = message
        self.setProperty("card", "dialog")
        self.setFixedWidth(themes.current().px(340))
        self.setAccessibleName(message.title)
        self.setAccessibleDescription(message.fact)
        self._strip = EdgeStrip(message.state, 3, self)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 6, 6)
        row.setSpacing(8)
        icon = shape_of(message.state) or "info"
        token = {"good": "good", "warn": "warn", "bad": "bad"}.get(message.state, "ac")
        row.addWidget(IconLabel(icon, token, 14))
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(Text(message.title, weight=600, wrap=True))
        if message.fact:
            column.addWidget(Text(message.fact, size=12, tone="tx2", wrap=True))
        row.addLayout(column, 1)
        if message.action:
            action = Button(message.action, kind="quiet", size="inline")
            action.clicked.connect(self._act)
            row.addWidget(action)
        close = IconButton("cross", tr("Close this message"), size="inline")
        close.clicked.connect(self.dismiss)
        row.addWidget(close)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MILLISECONDS)
        self._timer.timeout.connect(self._expire)
        if message.state != "bad":
            self._timer.start()

    def dismiss(self) -> None:
        """Take the message away."""
        self._timer.stop()
        self.hide()
        self.closed.emit()
        self.deleteLater()

    def resizeEvent(self, event: object) -> None:
        """The strip keeps the height."""
        self._strip.setGeometry(0, 0, 3, self.height())

    def _expire(self) -> None:
        if self.underMouse() or self.isAncestorOf(self.focusWidget() or self):
            self._timer.start()
        else:
            self.dismiss()

    def _act(self) -> None:
        if self.message.on_action is not None:
            self.message.on_action()
        self.dismiss()


class ToastHost(QObject):
    """Stacks toasts in the corner of a window and keeps what was said. `said` carries each new Message."""

    said = Signal(object)

    def __init__(self, window: QWidget, bottom: int = 36) -> None:
        super().__init__(window)
        self._window, self._bottom = window, bottom
        self._toasts: list[Toast] = []
        self.history: list[Message] = []
        window.installEventFilter(self)

    def show(self, message: Message) -> Toast:
        """Show a message; the oldest goes when there are more than three."""
        self.history.append(message)
        while len(self._toasts) >= MOST:
            self._toasts[0].dismiss()
        toast = Toast(message, self._window)
        toast.closed.connect(lambda: self._forget(toast))
        self._toasts.append(toast)
        toast.show()
        self._arrange()
        QAccessible.updateAccessibility(QAccessibleEvent(toast, QAccessible.Event.Alert))
        self.said.emit(message)
        return toast

    @property
    def toasts(self) -> tuple[Toast, ...]:
        """What is on screen, oldest first."""
        return tuple(self._toasts)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the corner."""
        if event.type() == QEvent.Type.Resize:
            self._arrange()
        return False

    def _forget(self, toast: Toast) -> None:
        if toast in self._toasts:
            self._toasts.remove(toast)
        self._arrange()

    def _arrange(self) -> None:
        bottom = self._window.height() - self._bottom
        for toast in reversed(self._toasts):
            toast.adjustSize()
            bottom -= toast.height()
            toast.move(self._window.width() - toast.width() - 20, bottom)
            toast.raise_()
            bottom -= 6
