"""Finds text that does not fit: labels and buttons smaller than what they say, with no tooltip that says it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from ui.widgets.button import Button

_ROUNDING = 2
"""Pixels by which the widths of a text, added up and measured at once, may differ."""


def cut_texts(root: QWidget) -> list[str]:
    """One line a visible label or button whose text is cut; a label that is elided on purpose has it as its tooltip."""
    found = [
        f"{label.text()!r} is cut: {label.contentsRect().width()}×{label.height()} px"
        for label in root.findChildren(QLabel)
        if label.isVisible() and label.text() and _is_cut(label)
    ]
    found += [
        f"Button {button.text()!r} is cut: {button.width()} of {button.sizeHint().width()} px"
        for button in root.findChildren(Button)
        if button.isVisible() and button.width() + _ROUNDING < button.sizeHint().width() and not button.toolTip()
    ]
    return found


def _is_cut(label: QLabel) -> bool:
    if label.wordWrap():
        return label.heightForWidth(label.width()) > label.height() + _ROUNDING
    if label.textFormat() == Qt.TextFormat.RichText:
        return label.minimumSizeHint().width() > label.width() + _ROUNDING
    needed = max(label.fontMetrics().horizontalAdvance(line) for line in label.text().split("\n"))
    return needed > label.contentsRect().width() + _ROUNDING and not label.toolTip()
