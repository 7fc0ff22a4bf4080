"""What can be done with runs of the history, and the questions before something goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from studio.recipes import Recipe
from studio.runs.deletion import Deletion
from ui.context import Context
from ui.format import both_sizes, disk
from ui.tr import plural, tr
from ui.widgets.button import Button
from ui.widgets.dialog import Answer, ConfirmDialog
from ui.widgets.text import Text
from ui.widgets.toast import Message
from ui.wording import words_for


class HistoryActions:
    """Everything blocks somewhere, so everything is a task; errors become toasts."""

    def __init__(self, context: Context, owner: QWidget) -> None:
        self._context, self._owner = context, owner

    def change(self, run_id: str, **values: object) -> None:
        """Name, tags, notes or archived, kept in the run's user.json."""
        self._do(lambda: self._context.services.runs.change(run_id, **values))

    def resume(self, run_id: str) -> None:
        """Go on from the newest checkpoint and look at it."""
        self._do(
            lambda: self._context.services.runs.resume(run_id), lambda _: self._context.navigate("live", run=run_id)
        )

    def clone(self, run_id: str) -> None:
        """Fill New run with the recipe of a run; one step of undo brings the old one back."""

        def fill(recipe: Recipe) -> None:
            self._context.services.document.replace(recipe)
            self._context.navigate("new", step="method")

        self._context.tasks.run(
            lambda control: self._context.services.runs.recipe(run_id),
            owner=self._owner,
            on_result=fill,
            on_error=self._failed,
        )

    def open_folder(self, run_id: str) -> None:
        """Show the run's folder in the file manager."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._context.services.home.run(run_id).path)))

    def delete(self, names: dict[str, str]) -> None:
        """Review what deleting these runs (id → name) would remove, ask, and delete."""

        def ask(review: list[Deletion]) -> None:
            dialog = deletion_dialog(review, names, self._owner.window())
            dialog.chosen.connect(
                lambda answer: self._delete([item.run for item in review]) if answer == "delete" else None
            )
            dialog.open()

        self._context.tasks.run(
            lambda control: self._context.services.runs.review_deletion(list(names)),
            owner=self._owner,
            on_result=ask,
            on_error=self._failed,
        )

    def edit_notes(self, run_id: str, name: str, notes: str) -> None:
        """Write notes about a run."""
        dialog = NotesDialog(name, notes, self._owner.window())
        dialog.accepted.connect(lambda: self.change(run_id, notes=dialog.text.toPlainText()))
        dialog.open()

    def _delete(self, run_ids: Sequence[str]) -> None:
        self._do(lambda: self._context.services.runs.delete(run_ids))

    def _do(self, work: Callable[[], object], then: Callable[[object], None] | None = None) -> None:
        def done(result: object) -> None:
            self._context.watch.now()
            if then is not None:
                then(result)

        self._context.tasks.run(
            lambda control: work(), owner=self._owner, on_result=done, on_error=self._failed, touches=("runs",)
        )

    def _failed(self, error: Exception) -> None:
        words = words_for(error)
        self._context.toast(Message("bad", words.what, words.remedy))


def deletion_dialog(review: Sequence[Deletion], names: dict[str, str], parent: QWidget) -> ConfirmDialog:
    """What goes, with its bytes, and what stays; its `answer` is "keep" or "delete"."""
    lines = []
    for item in review:
        count = plural(item.checkpoints, "{count} checkpoint", "{count} checkpoints")
        line = tr("{name}: {checkpoints}, {size}", name=names[item.run], checkpoints=count, size=disk(item.size_bytes))
        if item.forbidden is not None:
            line += f"\n{words_for(item.forbidden)}"
        lines.append(line)
    total = sum(item.size_bytes for item in review)
    lines += ["", tr("Frees {size}. Exports lie elsewhere and stay.", size=both_sizes(total))]
    title = plural(len(review), "Delete this run for good?", "Delete {count} runs for good?")
    answers = [Answer("keep", tr("Keep"), keys="Esc"), Answer("delete", tr("Delete for good"), "risky", "trash")]
    dialog = ConfirmDialog(title, "\n".join(lines), answers, escape="keep", parent=parent)
    if any(item.forbidden is not None for item in review):
        dialog.buttons["delete"].setEnabled(False)
        dialog.buttons["delete"].setToolTip(tr("A run that is at work, or another machine's, is not deleted."))
    return dialog


class NotesDialog(QDialog):
    """Free text about a run."""

    def __init__(self, name: str, notes: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Notes about {name}", name=name))
        self.setAccessibleName(self.windowTitle())
        self.resize(460, 260)
        self.text = QPlainTextEdit(notes)
        self.text.setAccessibleName(tr("Notes"))
        self.text.setTabChangesFocus(True)
        save, cancel = Button(tr("Save notes"), kind="primary"), Button(tr("Cancel"), keys="Esc")
        save.clicked.connect(self.accept)
        cancel.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(cancel)
        row.addWidget(save)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.addWidget(Text(self.windowTitle(), size=15, weight=600, wrap=True))
        column.addWidget(self.text, 1)
        column.addLayout(row)
