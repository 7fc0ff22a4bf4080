"""The "On this disk" tab: models in the Hub's cache and in folders, adding a folder, deleting with what it frees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from studio.recipes import ModelRef
from ui.bridge import Control
from ui.context import Context
from ui.format import disk
from ui.tr import plural, tr
from ui.viewmodels.fit import Fit, fits_of
from ui.viewmodels.local_rows import LocalRows, reference_of
from ui.widgets.badge import BadgeDelegate
from ui.widgets.button import Button
from ui.widgets.cells import TextDelegate
from ui.widgets.dialog import Answer, ConfirmDialog
from ui.widgets.empty_state import EmptyState
from ui.widgets.table import DataTable
from ui.widgets.text import Text
from ui.widgets.toast import Message
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.hub.records import Deletion, LocalModel, LocalScan

Fits = dict[str, tuple[Fit, ...]]


class DiskTab(QWidget):
    """`selected` and `activated` carry a LocalModel (or None); `counted` how many there are."""

    selected = Signal(object)
    activated = Signal(object)
    counted = Signal(int)

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.rows = LocalRows(self)
        self.dialog: ConfirmDialog | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self._add = Button(tr("Add a folder…"), icon="folder")
        self._delete = Button(tr("Delete files…"), icon="trash", kind="risky")
        self._delete.setEnabled(False)
        self._refresh = Button(tr("Look again"), icon="reset", kind="quiet")
        bar = QHBoxLayout()
        bar.setSpacing(6)
        for button in (self._add, self._delete, self._refresh):
            bar.addWidget(button)
        bar.addStretch(1)
        self._note = Text("", size=12, tone="warn", wrap=True)
        self._note.hide()
        self._stack = QStackedWidget()
        column.addLayout(bar)
        column.addWidget(self._stack, 1)
        column.addWidget(self._note)
        self._add_states()
        self._add.clicked.connect(self._pick_folder)
        self._delete.clicked.connect(self._review)
        self._refresh.clicked.connect(self.look)

    def look(self) -> None:
        """Read the disk again, off the GUI thread."""
        services = self._context.services
        self._context.tasks.run(
            lambda control: services.hub().local(), owner=self, on_result=self._found, on_error=self._failed
        )

    def select(self, reference: ModelRef) -> None:
        """Go to the row of a recipe's model, if it is there."""
        row = self.rows.row_of(reference)
        if row is not None:
            self.table.selectRow(row)

    def add_folder(self, folder: str) -> None:
        """Look into one more folder from now on."""

        def work(control: Control) -> None:
            settings = self._context.services.settings
            known = settings.load().model_folders
            if folder not in known:
                settings.change(model_folders=[*known, folder])

        self._context.tasks.run(
            work, owner=self, on_result=lambda _nothing: self.look(), on_error=self._failed, touches=("settings",)
        )

    def _add_states(self) -> None:
        self.table = DataTable(tr("Models on this disk"), density="two-line")
        self.table.setModel(self.rows)
        self.table.set_column(0, None, TextDelegate(self.table, strong=True))
        self.table.set_column(1, 110)
        self.table.set_column(2, 90, TextDelegate(self.table, number=True))
        self.table.set_column(3, 140)
        self.table.set_column(4, 190, BadgeDelegate(self.table))
        self.table.keep_width(0, 170, (3, 1))
        self.table.selectionModel().currentRowChanged.connect(self._row_changed)
        self.table.activated.connect(self._row_activated)
        self._loading = EmptyState(tr("Looking at this disk…"), icon="disk")
        add = Button(tr("Add a folder of models…"), icon="folder", kind="primary")
        add.clicked.connect(self._pick_folder)
        self._nothing = EmptyState(
            tr("No models on this disk yet"), tr("Downloaded models appear here, and those in folders that you add."),
            icon="disk", actions=[add],
        )  # fmt: skip
        for page in (self._loading, self._nothing, self.table):
            self._stack.addWidget(page)

    def _found(self, scan: LocalScan) -> None:
        selected = self.rows.model_at(self.table.currentIndex().row())
        self.rows.show(scan.models)
        self._stack.setCurrentWidget(self.table if scan.models else self._nothing)
        self._note.setText("\n".join(str(words_for(problem)) for problem in scan.problems))
        self._note.setVisible(bool(scan.problems))
        self.counted.emit(len(scan.models))
        row = next((at for at, model in enumerate(scan.models) if selected and model.path == selected.path), None)
        if row is not None:
            self.table.selectRow(row)  # a look at the disk must not take the selection away
        self._row_changed(self.table.currentIndex(), QModelIndex())  # taking the focus may have chosen a row already
        models = [model for model in scan.models if model.verdict.state == "trainable" and model.is_complete]
        services = self._context.services

        def work(control: Control) -> None:
            machine = services.machine()
            for model in models:
                control.check()
                control.progress((model.path, fits_of(services.planning, reference_of(model), machine)))

        if models:
            self._context.tasks.run(work, owner=self, on_progress=self._fit_known, on_error=self._failed)

    def _fit_known(self, told: object) -> None:
        if isinstance(told, tuple):
            self.rows.learn(*told)

    def _failed(self, error: Exception) -> None:
        self._note.setText(str(words_for(error)))
        self._note.show()

    def _pick_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("A folder that is a model, or holds some"))
        if folder:
            self.add_folder(folder)

    def _review(self) -> None:
        model = self.rows.model_at(self.table.currentIndex().row())
        if model is not None:
            services = self._context.services
            self._context.tasks.run(
                lambda control: services.hub().deletion(model), owner=self, on_result=partial(self._ask, model),
                on_error=self._failed,
            )  # fmt: skip

    def _ask(self, model: LocalModel, deletion: Deletion) -> None:
        freed = disk(deletion.freed_bytes)
        text = tr("{path}\nThis frees {size}. Runs, exports and other models are kept.", path=model.path, size=freed)
        answers = [
            Answer("cancel", tr("Keep the files"), keys="↵"),
            Answer("delete", tr("Delete, free {size}", size=freed), "risky", "trash"),
        ]
        title = tr("Delete the files of {model}?", model=model.label)
        self.dialog = ConfirmDialog(title, text, answers, parent=self.window())
        self.dialog.chosen.connect(lambda key: self._delete_files(model) if key == "delete" else None)
        self.dialog.finished.connect(self.dialog.deleteLater)
        self.dialog.open()

    def _delete_files(self, model: LocalModel) -> None:
        services = self._context.services

        def done(freed: int) -> None:
            self._context.toast(Message("good", tr("Files deleted"), tr("{size} freed", size=disk(freed))))
            self.look()

        self._context.tasks.run(
            lambda control: services.hub().delete(model), owner=self, on_result=done, on_error=self._failed,
            touches=("models",),
        )  # fmt: skip

    def _row_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        model = self.rows.model_at(current.row())
        self._delete.setEnabled(model is not None)
        self.selected.emit(model)

    def _row_activated(self, index: QModelIndex) -> None:
        self.activated.emit(self.rows.model_at(index.row()))


def count_label(count: int) -> str:
    """For the tab and for screen readers."""
    return plural(count, "{count} model", "{count} models")
