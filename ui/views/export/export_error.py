"""Why an export did not come about, with what helps against it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from ui.format import number
from ui.tr import tr
from ui.views.export.queue import Job
from ui.views.export.words import format_name
from ui.widgets.button import Button
from ui.widgets.error_card import ErrorCard
from ui.wording import ProblemLike, words_for

_OTHER_FOLDER = ("export_target_taken", "disk_full", "no_permission")


class ExportErrorCard(ErrorCard):
    """`folder_wanted`, `storage_wanted`, and `again_wanted` with the job that failed."""

    folder_wanted = Signal()
    storage_wanted = Signal()
    again_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setVisible(False)

    def clear(self) -> None:
        """Nothing is wrong any more."""
        self.setVisible(False)

    def say(self, problem: object, title: str, job: Job | None = None) -> None:
        """Show a problem or exception; a job that failed can be tried again."""
        words = words_for(problem)
        code = problem.code if isinstance(problem, ProblemLike) else type(problem).__name__
        actions = []
        if code in _OTHER_FOLDER:
            other = Button(tr("Change folder"), icon="folder", kind="primary")
            other.clicked.connect(self.folder_wanted)
            actions.append(other)
        if code == "disk_full":
            storage = Button(tr("Open Storage"), icon="disk")
            storage.clicked.connect(self.storage_wanted)
            actions.append(storage)
        if job is not None and code != "export_target_taken":
            again = Button(tr("Try again"), icon="reset")
            again.clicked.connect(lambda: self.again_wanted.emit(job))
            actions.append(again)
        close = Button(tr("Close"), kind="quiet")
        close.clicked.connect(self.clear)
        actions.append(close)
        report = f"{title}\n{code}: {words}"
        if job is not None:
            report += f"\n{format_name(job.kind)}, {tr('step {step}', step=number(job.step))}, {job.run.id}"
        safe = tr("No half export was left behind; checkpoints are untouched.") if job is not None else ""
        self.show_error(title, f"{words} {safe}".strip(), actions=actions, report=lambda: report)
