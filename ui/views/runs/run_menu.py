"""The menu of one run: what can be done with it in its state, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QMenu

from studio.runs.rows import RunRow
from ui.format import number
from ui.tr import tr
from ui.view import View
from ui.viewmodels import run_table as columns
from ui.views.runs.history_table import HistoryTable
from ui.views.runs.run_actions import HistoryActions


def run_menu(run: RunRow, view: View, table: HistoryTable, acts: HistoryActions, delete: Callable[[], None]) -> QMenu:
    """A menu that belongs to `view`, called "run-menu"."""
    menu = QMenu(view)
    menu.setObjectName("run-menu")
    menu.setAccessibleName(tr("Run: {name}", name=run.name))
    navigate = view.context.navigate
    menu.addAction(tr("Open in Live"), lambda: navigate("live", run=run.id))
    if run.status in ("stopped", "failed", "lost") and run.checkpoint_step is not None:
        step = number(run.checkpoint_step)
        menu.addAction(tr("Resume from step {step}", step=step), lambda: acts.resume(run.id))
    menu.addAction(tr("Clone to New run"), lambda: acts.clone(run.id))
    if run.checkpoint_step is not None:
        menu.addAction(tr("Export"), lambda: navigate("export", run=run.id))
    menu.addSeparator()
    menu.addAction(tr("Rename"), lambda: table.edit_column(columns.NAME))
    menu.addAction(tr("Edit tags"), lambda: table.edit_column(columns.TAGS))
    menu.addAction(tr("Notes…"), lambda: acts.edit_notes(run.id, run.name, run.notes))
    put_away = tr("Take out of the archive") if run.archived else tr("Archive")
    menu.addAction(put_away, lambda: acts.change(run.id, archived=not run.archived))
    menu.addAction(tr("Open run folder"), lambda: acts.open_folder(run.id))
    menu.addSeparator()
    menu.addAction(tr("Delete…"), delete)
    return menu
