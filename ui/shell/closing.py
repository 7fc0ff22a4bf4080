"""What happens when the window closes while runs train: it asks, and going on in the background is the default."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from PySide6.QtWidgets import QWidget

from studio.errors import SurroundingsError
from ui.tr import plural, tr
from ui.widgets.dialog import Answer, ConfirmDialog

if TYPE_CHECKING:
    from studio.runs.service import RunService

_log = logging.getLogger(__name__)
Choice = Literal["keep", "stop", "cancel"]


def closing_dialog(names: Sequence[str], parent: QWidget) -> ConfirmDialog:
    """The question, for the runs called `names`; its `answer` is "keep", "stop" or "cancel"."""
    title = plural(len(names), "Close the window while a run trains?", "Close the window while {count} runs train?")
    text = tr("The engine is its own process and can go on: {names}.", names=", ".join(names))
    answers = [
        Answer("keep", tr("Keep training in the background"), keys="↵"),
        Answer("stop", tr("Stop & save").replace("&", "&&"), "risky", "stop"),
        Answer("cancel", tr("Cancel"), keys="Esc"),
    ]
    return ConfirmDialog(title, text, answers, parent=parent)


def stop_all(runs: RunService, run_ids: Iterable[str]) -> None:
    """Stop & save each run. One that has ended meanwhile is left alone; one that has not begun has nothing to save."""
    for run_id in run_ids:
        try:
            runs.stop(run_id)
        except SurroundingsError as error:
            if error.code == "run.not_running":
                if runs.is_alive(run_id):
                    runs.end_now(run_id)
            else:
                _log.error("%s could not be stopped: %s", run_id, error)  # the window closes all the same
