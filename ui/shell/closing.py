"""What happens when the window closes while runs train: it asks, and going on in the background is the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtWidgets import QWidget

from ui.tr import plural, tr
from ui.widgets.dialog import Answer, ConfirmDialog

Choice = Literal["keep", "stop", "cancel"]


def closing_dialog(names: Sequence[str], parent: QWidget) -> ConfirmDialog:
    """The question, for the runs called `names`; its `answer` is "keep", "stop" or "cancel"."""
    title = plural(len(names), "Close the window while a run trains?", "Close the window while {count} runs train?")
    text = tr("The engine is its own process and can go on: {names}.", names=", ".join(names))
    answers = [
        Answer("keep", tr("Keep training in the background"), keys="↵"),
        Answer("stop", tr("Stop & save"), "risky", "stop"),
        Answer("cancel", tr("Cancel"), keys="Esc"),
    ]
    return ConfirmDialog(title, text, answers, parent=parent)
