"""The bell's list: everything that toasts said, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget

from ui.icons import icon
from ui.tr import tr
from ui.widgets.badge import shape_of
from ui.widgets.toast import Message

_MOST = 20


def show_messages(messages: Sequence[Message], button: QWidget) -> QMenu:
    """Open the list below `button`; picking a message does its action."""
    menu = QMenu(button)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if not messages:
        menu.addAction(tr("No messages yet")).setEnabled(False)
    for message in list(reversed(messages))[:_MOST]:
        token = {"good": "good", "warn": "warn", "bad": "bad"}.get(message.state, "ac")
        text = f"{message.title}. {message.fact}" if message.fact else message.title
        action = menu.addAction(icon(shape_of(message.state) or "info", token), text.replace("&", "&&"))
        if message.on_action is not None:
            action.triggered.connect(message.on_action)
    menu.popup(button.mapToGlobal(QPoint(0, button.height() + 4)))
    return menu
