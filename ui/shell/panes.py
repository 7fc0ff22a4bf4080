"""F6 goes from pane to pane. A pane is a widget with the property `pane` set to its name."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


def first_focusable(pane: QWidget) -> QWidget | None:
    """The first widget in a pane, in tab order of construction, that can take the focus."""
    for widget in (pane, *pane.findChildren(QWidget)):
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            return widget
    return None


def next_pane(window: QWidget, step: int) -> QWidget | None:
    """Move the focus to the pane `step` further on; returns what got it, None without panes."""
    panes = [pane for pane in window.findChildren(QWidget) if pane.property("pane") and pane.isVisible()]
    if not panes:
        return None
    focused = QApplication.focusWidget()
    here = next(
        (index for index, pane in enumerate(panes) if focused and (pane is focused or pane.isAncestorOf(focused))), -1
    )
    for offset in range(1, len(panes) + 1):
        start = here if here >= 0 else (-1 if step > 0 else 0)
        target = first_focusable(panes[(start + step * offset) % len(panes)])
        if target is not None:
            target.setFocus(Qt.FocusReason.TabFocusReason)
            return target
    return None
