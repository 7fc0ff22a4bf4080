"""Step 2 of New run: which rows, what shape they have, what the engine will see of them, and what an epoch is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.datasets import Issue
from studio.recipes import DatasetRef, ModelRef, Recipe
from ui.bridge import Latest
from ui.context import Command, Context
from ui.format import number
from ui.tr import tr
from ui.view import WizardPage
from ui.viewmodels.data_rows import RowsQuestion
from ui.views.new_run.data_inspection import DataInspection
from ui.views.new_run.data_settings import DataSettings
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.step_footer import StepFooter
from ui.widgets.stepper import StepState
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.datasets import DatasetPreviewed, DataStatistics

_SAID_ELSEWHERE = ("no_dataset", "data_not_measured")


class DataPage(WizardPage):
    """Settings of the data at the left, its inspection at the right."""

    def __init__(self, context: Context, session: PlanSession) -> None:
        super().__init__(context)
        self._session = session
        self._document = context.services.document
        self._current = 0
        self._search, self._issue = "", ""
        self._previewed: DatasetRef | None = None
        self.preview: DatasetPreviewed | None = None
        self.statistics: DataStatistics | None = None
        self._counted_for: tuple[object, ...] = ()
        self._preview_request = Latest(context.tasks, self)
        self._footer = StepFooter(session)
        self.settings = DataSettings(context)
        self.inspection = DataInspection(context)
        self.setAcceptDrops(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.settings)
        row.addWidget(self.inspection, 1)
        self._connect()
        self._refresh()

    def arrive(self, **arguments: object) -> None:
        """Files may have changed since: `path` adds one."""
        if isinstance(path := arguments.get("path"), str):
            self.add([path])
        self._refresh()

    def step_state(self) -> tuple[StepState, str]:
        """The first dataset and how many rows there are."""
        datasets = self._document.recipe.datasets
        if not datasets:
            return "todo", tr("Not chosen yet")
        name = Path(datasets[0].path).stem
        if len(datasets) > 1:
            name = tr("{name} and {count} more", name=name, count=number(len(datasets) - 1))
        if self.statistics is None:
            return "done", name
        return "done", tr("{name} · {count} rows", name=name, count=number(self.statistics.rows_read))

    def ready(self) -> bool:
        """There is something to learn from."""
        return bool(self._document.recipe.datasets)

    def next_label(self) -> str:
        """Method and plan come next."""
        return tr("Next: method & plan")

    def footer(self) -> QWidget:
        """The plan so far."""
        return self._footer

    def commands(self) -> Sequence[Command]:
        """What Ctrl K offers here."""
        sources = self.settings.sources
        return (
            Command(tr("Add a file of rows"), sources.pick_file, icon="file"),
            Command(tr("Add a folder of rows"), sources.pick_folder, icon="folder"),
            Command(tr("Search rows"), self.focus_search, icon="search"),
        )

    def focus_search(self) -> None:
        """Ctrl F."""
        self.inspection.rows_card.field.setFocus()

    def shutdown(self) -> None:
        """No more news from the document."""
        self._unsubscribe()
        self._preview_request.cancel()

    def add(self, paths: Sequence[str]) -> None:
        """More datasets; one that is there already is looked at instead."""
        datasets = list(self._document.recipe.datasets)
        known = [dataset.path for dataset in datasets]
        datasets += [DatasetRef(path) for path in dict.fromkeys(paths) if path not in known]
        self._current = ([dataset.path for dataset in datasets]).index(paths[0])
        self._document.set("datasets", tuple(datasets))
        self._refresh()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Local files and folders may be dropped."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Take what was dropped."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            self.add(paths)
            event.acceptProposedAction()

    def _connect(self) -> None:
        settings, inspection = self.settings, self.inspection
        self._unsubscribe = self._document.subscribe(lambda _keys: self._refresh())
        self._session.changed.connect(self._refresh)
        settings.sources.added.connect(self.add)
        settings.sources.removed.connect(self._remove)
        settings.sources.shown.connect(self._look_at)
        settings.format.format_picked.connect(lambda name: self._change_current(format=name, columns={}))
        settings.format.column_picked.connect(self._map_column)
        settings.evaluation.picked.connect(
            lambda paths: self._document.set("evaluation_datasets", tuple(DatasetRef(path) for path in paths))
        )
        settings.evaluation.removed.connect(lambda: self._document.set("evaluation_datasets", ()))
        settings.issues.wanted.connect(lambda code: self._filter(issue=code))
        inspection.rows_card.search_changed.connect(lambda text: self._filter(search=text))
        inspection.lengths.dragged.connect(lambda _limit: self._show_epoch())
        inspection.count_bar.cancelled.connect(self._session.stop_counting)
        inspection.count_bar.wanted.connect(self._session.refresh)
        inspection.file_wanted.connect(settings.sources.pick_file)
        inspection.folder_wanted.connect(settings.sources.pick_folder)

    def _refresh(self) -> None:
        recipe, planned = self._document.recipe, self._session.planned
        self._current = max(0, min(self._current, len(recipe.datasets) - 1))
        counted_for = (recipe.datasets, recipe.evaluation_datasets, recipe.model)
        if planned is not None and planned.statistics is not None and not self._session.pending:
            self.statistics, self._counted_for = planned.statistics, counted_for
        elif counted_for != self._counted_for:
            self.statistics = None
        self.settings.show_recipe(recipe, self._current)
        self._read_preview(recipe)
        self._show_rows(recipe)
        self._show_counts()
        self.step_changed.emit()

    def _read_preview(self, recipe: Recipe) -> None:
        reference = recipe.datasets[self._current] if recipe.datasets else None
        if reference == self._previewed:
            return
        self._previewed, self.preview = reference, None
        self._preview_request.cancel()
        self.settings.show_no_preview(loading=reference is not None)
        if reference is not None:
            services = self.context.services
            self._preview_request.request(
                lambda control: services.datasets.preview(reference), self._preview_came, self._preview_failed
            )

    def _preview_came(self, preview: DatasetPreviewed) -> None:
        self.preview = preview
        if self._previewed is not None:
            self.settings.show_preview(self._previewed, preview)
        self._show_rows(self._document.recipe)
        self._show_counts()

    def _preview_failed(self, error: Exception) -> None:
        reference, self._previewed = self._previewed, None
        if getattr(error, "code", "") == "data.cancelled":  # the worker was ended for something else: ask again
            self._refresh()
            return
        self._previewed = reference
        self.settings.show_failure(words_for(error))
        self._show_rows(self._document.recipe)

    def _show_rows(self, recipe: Recipe) -> None:
        self.inspection.show_empty(not recipe.datasets)
        question = None
        if recipe.datasets and self.preview is not None and self.preview.format:
            question = RowsQuestion(_rows_recipe(recipe), self._current, self._tokenizer(), self._search, self._issue)
        length = self._document.value("sequence_length")
        self.inspection.rows_card.show_rows(question, length if isinstance(length, int) else 0)

    def _tokenizer(self) -> Path | None:
        planned = self._session.planned
        return Path(planned.model_folder) if planned is not None and planned.model_folder else None

    def _show_counts(self) -> None:
        planned, inspection = self._session.planned, self.inspection
        progress = self._session.progress
        if progress is not None:
            inspection.count_bar.show_progress(progress)
        elif self._session.counting_stopped:
            inspection.count_bar.show_stopped()
        else:
            inspection.count_bar.hide()
        self.settings.show_issues(self._issues(), self._issue)
        inspection.rows_card.show_summary(self.statistics)
        if self.statistics is not None and len(self._document.recipe.datasets) == 1:
            self.settings.show_row_count(self.statistics.rows_read)
        problems = [p for p in planned.problems if p.where == "datasets" and p.severity == "error"] if planned else []
        loud = [problem for problem in problems if problem.code not in _SAID_ELSEWHERE]
        self.settings.show_problem(words_for(loud[0]) if loud and not self._session.pending else None)
        if self.statistics is None:
            title = tr("Counting…") if progress is not None else tr("Not counted yet")
            text = "" if self._tokenizer() else tr("Choose a model that is on this disk: its tokenizer counts.")
            inspection.lengths.show_nothing(title, text)
        else:
            inspection.lengths.show_lengths(self.statistics.histogram)
        self._show_epoch()

    def _show_epoch(self) -> None:
        epoch, planned = self.inspection.epoch, self._session.planned
        if self.statistics is None:
            epoch.show_nothing()
        else:
            epoch.show_statistics(self.statistics, planned.plan if planned else None, self.inspection.lengths.limit)

    def _issues(self) -> list[Issue]:
        if self.statistics is not None:
            return list(self.statistics.issues)
        if self.preview is None or not self.preview.problems:
            return []
        problems = self.preview.problems
        return [Issue("malformed", len(problems), "left_out", "The row cannot be read.", problems)]

    def _look_at(self, index: int) -> None:
        self._current, self._issue = index, ""
        self._refresh()

    def _remove(self, index: int) -> None:
        datasets = list(self._document.recipe.datasets)
        del datasets[index]
        self._issue = ""
        self._document.set("datasets", tuple(datasets))

    def _change_current(self, **changes: object) -> None:
        datasets = list(self._document.recipe.datasets)
        datasets[self._current] = replace(datasets[self._current], **changes)
        self._document.set("datasets", tuple(datasets))

    def _map_column(self, role: str, column: str) -> None:
        columns = self._document.recipe.datasets[self._current].columns
        self._change_current(columns={**columns, role: column})

    def _filter(self, *, search: str | None = None, issue: str | None = None) -> None:
        self._search = self._search if search is None else search
        self._issue = self._issue if issue is None else issue
        self._refresh()


def _rows_recipe(recipe: Recipe) -> Recipe:
    """The settings that a row's tokens depend on, and no others: so that only they make the table read anew."""
    return Recipe(
        model=recipe.model or ModelRef(), datasets=recipe.datasets, sequence_length=recipe.sequence_length,
        loss_on=recipe.loss_on, chat_template=recipe.chat_template,
    )  # fmt: skip
