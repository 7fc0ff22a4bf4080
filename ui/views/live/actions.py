"""What a person asks of a run: checkpoint, pause, resume, stop, cancel. Every wish ends in the run service."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from studio.errors import SurroundingsError
from ui.bridge import Control
from ui.context import Context
from ui.tr import tr
from ui.widgets.dialog import Answer, ConfirmDialog
from ui.widgets.toast import Message
from ui.wording import words_for


class RunActions:
    """Asks off the GUI thread; `asked` is called when studio has taken the wish, so that the screen looks at once."""

    def __init__(self, context: Context, owner: QWidget, asked: Callable[[], None]) -> None:
        self._context, self._owner, self._asked = context, owner, asked

    def checkpoint(self, run_id: str) -> None:
        """Save a checkpoint after the current step."""
        self._do(lambda: self._context.services.runs.checkpoint(run_id))

    def pause(self, run_id: str) -> None:
        """Finish the step and wait."""
        self._do(lambda: self._context.services.runs.pause(run_id))

    def unpause(self, run_id: str) -> None:
        """Go on after a pause."""
        self._do(lambda: self._context.services.runs.unpause(run_id))

    def resume(self, run_id: str) -> None:
        """Start the next attempt from the newest checkpoint."""
        self._do(lambda: self._context.services.runs.resume(run_id))

    def stop(self, run_id: str, name: str) -> None:
        """Stop & save, after a question. A second stop is harmless: the engine saves once."""
        dialog = stop_dialog(name, self._owner.window())
        dialog.chosen.connect(lambda answer: self._stop_if(answer, run_id))
        dialog.open()

    def cancel(self, run_id: str) -> None:
        """End what is being prepared: nothing has been trained, so nothing is lost and nobody is asked."""

        def work() -> None:
            try:
                self._context.services.runs.stop(run_id, save=False)
            except SurroundingsError as error:
                if error.code != "run.not_running":
                    raise
                self._context.services.runs.end_now(run_id)  # its engine has not begun to listen yet

        self._do(work)

    def _stop_if(self, answer: str, run_id: str) -> None:
        if answer == "stop":
            self._do(lambda: self._context.services.runs.stop(run_id))

    def _do(self, work: Callable[[], object]) -> None:
        def done(result: object) -> None:
            self._context.watch.now()
            self._asked()

        def task(control: Control) -> object:
            return work()

        self._context.tasks.run(task, owner=self._owner, on_result=done, on_error=self._failed, touches=("runs",))

    def _failed(self, error: Exception) -> None:
        words = words_for(error)
        self._context.toast(Message("bad", words.what, words.remedy))
        self._asked()


def stop_dialog(name: str, parent: QWidget) -> ConfirmDialog:
    """The question before a run is stopped; its `answer` is "keep" or "stop"."""
    text = tr("{name} finishes its step, saves a checkpoint and ends. Resume goes on from there.", name=name)
    answers = [
        Answer("keep", tr("Keep training"), keys="Esc"),
        Answer("stop", tr("Stop & save").replace("&", "&&"), "risky", "stop"),
    ]
    return ConfirmDialog(tr("Stop this run?"), text, answers, escape="keep", parent=parent)
