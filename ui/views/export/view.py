"""Export: a checkpoint of a run becomes a folder that others can load, and is tested before it counts as done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QVBoxLayout, QWidget

from studio.exports.service import ExportFormat
from studio.runs.rows import ExportRow, RunRow
from ui.bridge import Latest
from ui.context import Command, Context
from ui.format import disk, number
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.view import View
from ui.views.export.content import ExportContent
from ui.views.export.exports_card import open_folder
from ui.views.export.facts import Forecast, RunFacts, exportable_runs, forecast, read_run
from ui.views.export.queue import ExportQueue, Job
from ui.views.export.result_card import read_card
from ui.views.export.words import format_name
from ui.widgets.button import Button
from ui.widgets.empty_state import EmptyState
from ui.widgets.toast import Message


class ExportView(View):
    """Reads runs off the GUI thread; what it shows is `facts` (one run) and `forecast` (sizes and places)."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.facts: RunFacts | None = None
        self.prediction: Forecast | None = None
        self.queue = ExportQueue(context, self)
        self._wanted_run = ""
        self._step: int | None = None
        self._parent: Path | None = None
        self._result: ExportRow | None = None
        self._runs = Latest(context.tasks, self)
        self._facts = Latest(context.tasks, self)
        self._forecast = Latest(context.tasks, self)
        self._preview = Latest(context.tasks, self)
        self._keys = shortcuts(context.services.settings.load().shortcuts)
        self._build()
        self._connect()

    def arrive(self, **arguments: object) -> None:
        """`run`: its id; `step`: a checkpoint's. Without them, what was shown before, or the newest run."""
        run, step = arguments.get("run"), arguments.get("step")
        if isinstance(run, str) and run != self._wanted_run:
            self._wanted_run, self._step, self._result = run, None, None
        if isinstance(step, int):
            self._step = step
        self._read_runs()

    def crumbs(self) -> Sequence[str]:
        """Export › the run."""
        return (tr("Export"), self.facts.run.name or self.facts.run.id) if self.facts else (tr("Export"),)

    def commands(self) -> Sequence[Command]:
        """The screen's own actions."""
        if self.facts is None:
            return ()
        keys = shown(self._keys["export"].keys)
        return [
            Command(tr("Export the selected formats"), self.export, keys=keys, icon="export"),
            Command(tr("Change the folder for exports"), self.choose_folder, icon="folder"),
        ]

    def export(self) -> None:
        """Queue the ticked formats of the chosen checkpoint."""
        if self.facts is None or self.prediction is None or self._step is None or not self.footer.export.isEnabled():
            return
        self.error.clear()
        for kind in self._ticked():
            self.queue.add(Job(self.facts.run, self._step, kind, self.prediction.folders[kind]))
        for card in self.cards.values():
            card.tick.setChecked(False)

    def choose_folder(self) -> None:
        """Ask for the folder that new exports go into."""
        start = str(next(iter(self.prediction.folders.values())).parent) if self.prediction else ""
        chosen = QFileDialog.getExistingDirectory(self, tr("Folder for exports"), start)
        if chosen:
            self._parent = Path(chosen)
            self._read_forecast()

    def _build(self) -> None:
        self.content = content = ExportContent(shown(self._keys["export"].keys))
        self.checkpoints, self.cards, self.exports = content.checkpoints, content.cards, content.exports
        self.result, self.preview, self.error = content.result, content.preview, content.error
        self.footer = content.footer
        new_run = Button(tr("New run"), icon="plus", kind="primary", keys=shown(self._keys["new"].keys))
        new_run.clicked.connect(lambda: self.context.navigate("new"))
        live = Button(tr("Go to Live"), icon="pulse")
        live.clicked.connect(lambda: self.context.navigate("live"))
        self.empty = EmptyState(
            tr("No checkpoints yet"),
            tr("A run can be exported once it has finished or stopped with a checkpoint."),
            icon="export", actions=[new_run, live],
        )  # fmt: skip
        self.loading = QWidget()
        self.stack = QStackedWidget()
        for page in (self.loading, self.empty, content):
            self.stack.addWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.stack)

    def _connect(self) -> None:
        self.context.watch.changed.connect(self._news)
        self.checkpoints.run_picked.connect(lambda run: self.arrive(run=run))
        self.checkpoints.step_picked.connect(self._pick_step)
        for card in self.cards.values():
            card.ticked.connect(self._tell)
        self.exports.folder_wanted.connect(self.choose_folder)
        self.exports.cancel_wanted.connect(self.queue.cancel)
        self.exports.picked.connect(self._show_result)
        self.queue.changed.connect(self._show_jobs)
        self.queue.ended.connect(self._ended)
        self.footer.export_wanted.connect(self.export)
        self.footer.folder_wanted.connect(self._open_folder)
        self.error.folder_wanted.connect(self.choose_folder)
        self.error.storage_wanted.connect(lambda: self.context.navigate("settings", page="storage"))
        self.error.again_wanted.connect(self._again)
        for name, action in (
            ("previous", lambda: self.checkpoints.timeline.step_by(-1)),
            ("next", lambda: self.checkpoints.timeline.step_by(1)),
            ("export", self.export), ("refresh", self._read_runs),
        ):  # fmt: skip
            shortcut = QShortcut(QKeySequence(self._keys[name].keys), self)
            shortcut.setContext(Qt.ShortcutContext.WindowShortcut)
            shortcut.activated.connect(action)

    def _news(self, changes: object) -> None:
        if self.isVisible():
            self._read_runs()

    def _read_runs(self) -> None:
        services = self.context.services
        self._runs.request(lambda control: exportable_runs(services), self._runs_read, self._failed)

    def _runs_read(self, runs: list[RunRow]) -> None:
        known = {row.id for row in runs}
        if self._wanted_run not in known:
            self._wanted_run = runs[0].id if runs else ""
        if not runs:
            self.facts = None
            self.stack.setCurrentWidget(self.empty)
            self.crumbs_changed.emit()
            return
        self.checkpoints.set_runs(runs, self._wanted_run)
        services, run = self.context.services, self._wanted_run
        self._facts.request(lambda control: read_run(services, run), self._facts_read, self._failed)

    def _facts_read(self, facts: RunFacts) -> None:
        self.facts = facts
        steps = {row.step for row in facts.standing}
        if self._step not in steps:
            self._step = facts.best.step if facts.best else None
        self.stack.setCurrentWidget(self.content)
        for kind, card in self.cards.items():
            card.setVisible(kind in facts.formats)
        self.checkpoints.show_facts(facts, self._step)
        self._show_jobs()
        current = next((row for row in facts.exports if self._result and row.path == self._result.path), None)
        self._show_result(current or (facts.exports[0] if facts.exports else None))
        self._read_forecast()
        self.crumbs_changed.emit()

    def _failed(self, error: Exception) -> None:
        self.stack.setCurrentWidget(self.content)
        self.error.say(error, tr("The run could not be read"))

    def _pick_step(self, step: int) -> None:
        self._step = step
        if self.facts is not None:
            self.checkpoints.show_facts(self.facts, step)
        self._read_forecast()

    def _read_forecast(self) -> None:
        facts, step, parent, services = self.facts, self._step, self._parent, self.context.services
        if facts is None or step is None:
            return
        self._forecast.request(
            lambda control: forecast(services, facts, step, parent), self._forecast_read, self._failed
        )

    def _forecast_read(self, prediction: Forecast) -> None:
        self.prediction = prediction
        largest = max((size or 0 for size in prediction.sizes.values()), default=0)
        for kind, size in prediction.sizes.items():
            self.cards[kind].set_size(size, largest)
        self._tell()

    def _ticked(self) -> list[ExportFormat]:
        formats = self.facts.formats if self.facts else ()
        return [kind for kind in formats if self.cards[kind].tick.isChecked()]

    def _tell(self) -> None:
        """Footer and the place's line, from the ticks and the prediction."""
        prediction, ticked = self.prediction, self._ticked()
        if prediction is None or self._step is None:
            self.footer.say("", tr("Sizes are being read."))
            return
        needed = prediction.needed(ticked)
        folder = next(iter(prediction.folders.values())).parent
        facts = [tr("to {folder}", folder=str(folder)), tr("{free} free", free=disk(prediction.free))]
        facts += [tr("{size} needed", size=disk(needed))] if ticked else []
        self.exports.meta.setText(" · ".join(facts))
        names = ", ".join(format_name(kind) for kind in ticked)
        step = tr("Step {step}", step=number(self._step))
        refused = "" if ticked else tr("Tick at least one format.")
        if needed > prediction.free:
            refused = tr("Needs {needed}; {free} are free there. Change the folder or free some disk.",
                         needed=disk(needed), free=disk(prediction.free))  # fmt: skip
        self.footer.say(f"{step} · {names}" if names else step, refused, warns=needed > prediction.free)

    def _show_jobs(self) -> None:
        if self.facts is None:
            return
        jobs = [job for job in self.queue.jobs if job.is_pending]
        own = [job for job in jobs if job.run.id == self.facts.run.id]
        for kind, card in self.cards.items():
            card.set_job(next((job for job in own if job.kind == kind), None))
        self.exports.refresh(own, self.facts.exports)

    def _ended(self, job: Job) -> None:
        if job.state == "failed":
            self.error.say(job.error, tr("{format} was not exported", format=format_name(job.kind)), job)
        elif job.state == "done" and self.facts is not None and job.run.id == self.facts.run.id:
            self._result = next((row for row in self.facts.exports if row.path == str(job.target)), None) or _place(job)
        name = tr("{format}, step {step}", format=format_name(job.kind), step=number(job.step))
        if job.state == "cancelled":
            told = tr("{name}. Partial files are removed.", name=name)
            self.context.toast(Message("accent", tr("Export cancelled"), told))
        elif job.state == "done" and not self.isVisible():
            self.context.toast(Message("accent", tr("Export ended"), name, tr("Show"),
                                       lambda: self.context.navigate("export", run=job.run.id)))  # fmt: skip
        self._read_runs()

    def _again(self, job: object) -> None:
        self.error.clear()
        if isinstance(job, Job):
            self.queue.add(Job(job.run, job.step, job.kind, job.target))

    def _show_result(self, export: ExportRow | None) -> None:
        self._result = export
        self.result.show_export(export)
        if export is None:
            self.preview.show_text("")
        else:
            self._preview.request(lambda control: read_card(export), self.preview.show_text)

    def _open_folder(self) -> None:
        if self.prediction is not None:
            open_folder(next(iter(self.prediction.folders.values())).parent)


def _place(job: Job) -> ExportRow:
    """The row that the history will have for a job in a moment: found by its path."""
    return ExportRow(job.run.id, str(job.target), job.kind, job.step, "written", "", 0, "", "")
