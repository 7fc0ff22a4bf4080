"""F1: what the focused control is about, where it has no words of its own for that."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QToolTip, QWidget


def explanation_of(widget: QWidget) -> str:
    """The words of the pointer's tooltip, of the widget or what it is a part of; else its name."""
    if isinstance(widget, QAbstractItemView) and widget.currentIndex().isValid():
        told = widget.currentIndex().data(Qt.ItemDataRole.ToolTipRole)
        if told:
            return str(told)
    part: QWidget | None = widget
    while part is not None:
        if part.toolTip() or part.accessibleDescription():
            return part.toolTip() or part.accessibleDescription()
        part = None if part.isWindow() else part.parentWidget()
    return widget.accessibleName()


def explain(widget: QWidget) -> None:
    """Show the explanation below the widget, or below the current row of a table."""
    at = widget.rect().bottomLeft()
    if isinstance(widget, QAbstractItemView) and widget.currentIndex().isValid():
        at = widget.visualRect(widget.currentIndex()).bottomLeft()
    QToolTip.showText(widget.mapToGlobal(at), explanation_of(widget), widget)
