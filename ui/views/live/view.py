"""Live: one run while it trains, and after. Reads off the GUI thread, when the run watch has news."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from studio.errors import EngineError
from studio.runs.ingest import Changes
from ui.bridge import Control, Latest
from ui.context import Command, Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.view import View
from ui.viewmodels.live_run import LiveReader, Snapshot, recent_runs
from ui.viewmodels.run_log import RunLog
from ui.views.live.actions import RunActions
from ui.views.live.run_page import RunPage
from ui.widgets.button import Button
from ui.widgets.empty_state import EmptyState
from ui.widgets.error_card import ErrorCard
from ui.widgets.log_drawer import LogLine
from ui.wording import words_for

LOG_MILLISECONDS = 700


class LiveView(View):
    """`arrive(run=id)` shows that run; without it the newest active run, else the newest of all."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._keys = shortcuts(context.services.settings.load().shortcuts)
        self.run_id = ""
        self._name = ""
        self._here = False
        self._reader: LiveReader | None = None
        self._log: RunLog | None = None
        self._shot: Snapshot | None = None
        self._reads = Latest(context.tasks, self)
        self._again = False
        self.actions_of_run = RunActions(context, self, self.refresh)
        self._build()
        self._connect()
        context.watch.changed.connect(self._runs_changed)
        self._tail = context.tasks.every(LOG_MILLISECONDS, self._read_log, self._show_log, self)

    def arrive(self, **arguments: object) -> None:
        """Show the run that was named, or find one."""
        self._here = True
        run = arguments.get("run")
        if isinstance(run, str) and run:
            self.show_run(run)
        elif self.run_id:
            self._find_newer()
        else:
            self._find()

    def leave(self) -> None:
        """Nothing is read for a screen that nobody sees."""
        self._here = False
        self._reads.cancel()

    def shutdown(self) -> None:
        """The window closes."""
        self._tail.stop()
        self._reads.cancel()
        self.page.charts.shutdown()

    def crumbs(self) -> Sequence[str]:
        """Live › the run."""
        return (tr("Live"), self._name) if self._name else (tr("Live"),)

    def commands(self) -> Sequence[Command]:
        """What can be asked of the run that is shown, and the way to the others."""
        shot = self._shot
        if shot is None:
            return []
        head = self.page.header
        buttons = (head.checkpoint, head.pause, head.stop, head.resume, head.cancel)
        own = [
            Command(button.text().replace("&&", "&"), button.click, shot.row.name, icon="pulse")
            for button in buttons
            if not button.isHidden() and button.isEnabled()
        ]
        runs = [
            Command(tr("Show {name}", name=row.name), lambda run=row.id: self.show_run(run), tr("run"), icon="list")  # type: ignore[misc]  # mypy cannot type a default-bound lambda
            for row in shot.recent
            if row.id != self.run_id
        ]
        return [*own, *runs, Command(tr("Log drawer"), self.page.toggle_log, keys=shown(self._keys["log"].keys))]

    @property
    def snapshot(self) -> Snapshot | None:
        """The run as it is shown."""
        return self._shot

    def show_run(self, run_id: str) -> None:
        """Another run, or the same again."""
        if run_id != self.run_id:
            self.run_id, self._name, self._shot = run_id, "", None
            self._reader = LiveReader(self.context.services, run_id)
            self._log = RunLog(self.context.services, run_id)
            self.page.forget()
            self._reads.cancel()  # what is on its way belongs to the last run
            self._again = False
            self._tail.now()
        self.refresh()

    def refresh(self) -> None:
        """Read what is new of the shown run; at most one read is under way."""
        reader = self._reader
        if reader is None or not self._here:
            return
        if self._reads.pending:
            self._again = True
            return
        self._reads.request(lambda control: reader.read(), self._show, self._failed)

    def _runs_changed(self, changes: Changes) -> None:
        if not self._here:
            return
        if self.run_id in changes.removed:
            self.run_id, self._reader, self._log, self._shot, self._name = "", None, None, None, ""
            self._find()
        elif self.run_id:
            self.refresh()  # another run's news may change the switcher
        else:
            self._find()

    def _find(self) -> None:
        def found(runs: object) -> None:
            assert isinstance(runs, tuple)
            if runs:
                self.show_run(runs[0].id)
            else:
                self._pages.setCurrentWidget(self.empty)
                self.crumbs_changed.emit()

        self._reads.request(lambda control: recent_runs(self.context.services), found, self._failed)

    def _find_newer(self) -> None:
        """Coming back: an active run goes before the one that had been looked at, if that is over."""
        shot = self._shot
        if shot is None or shot.row.is_active:
            self.refresh()
            return

        def found(runs: object) -> None:
            assert isinstance(runs, tuple)
            newest = runs[0].id if runs and runs[0].is_active else self.run_id
            self.show_run(newest)

        self._reads.request(lambda control: recent_runs(self.context.services), found, self._failed)

    def _show(self, shot: Snapshot) -> None:
        if shot.row.id != self.run_id:
            return
        self._shot = shot
        if shot.row.name != self._name:
            self._name = shot.row.name
            self.crumbs_changed.emit()
        self._pages.setCurrentWidget(self.page)
        self.page.show_run(shot)
        if self._again:
            self._again = False
            self.refresh()

    def _failed(self, error: Exception) -> None:
        if isinstance(error, EngineError) and error.code == "run.unknown":
            if self.run_id and self._shot is None:
                self.context.watch.now()  # launched a moment ago: the history learns of it at once
                return
            self.run_id, self._reader, self._shot = "", None, None
            self._find()
            return
        words = words_for(error)
        retry = Button(tr("Try again"), icon="redo", kind="primary")
        retry.clicked.connect(self.refresh)
        self.error.show_error(words.what, words.remedy, actions=[retry], report=lambda: repr(error))
        self._pages.setCurrentWidget(self.error_page)

    def _read_log(self, control: Control) -> tuple[RunLog | None, list[LogLine]]:
        log = self._log
        return (log, log.read() if log is not None and self._here else [])

    def _show_log(self, read: tuple[RunLog | None, list[LogLine]]) -> None:
        log, lines = read
        if log is self._log and lines:
            self.page.log.append(lines)

    def _build(self) -> None:
        self.page = RunPage({name: shown(shortcut.keys) for name, shortcut in self._keys.items()})
        self.error = ErrorCard()
        self.error_page = QWidget()
        around = QVBoxLayout(self.error_page)
        around.setContentsMargins(20, 12, 20, 12)
        around.addWidget(self.error)
        around.addStretch(1)
        self.empty = self._empty()
        self._pages = QStackedWidget(self)
        for page in (self.empty, self.page, self.error_page):
            self._pages.addWidget(page)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._pages)

    def _empty(self) -> EmptyState:
        new = Button(tr("New run"), icon="plus", kind="primary", size="medium", keys=shown(self._keys["new"].keys))
        new.clicked.connect(lambda: self.context.navigate("new"))
        text = tr("Charts, samples and alerts appear here while a run trains.")
        text += "\n" + tr("Training goes on when this window is closed.")
        return EmptyState(tr("No run yet"), text, icon="chart", actions=[new])

    def _connect(self) -> None:
        head, asks, out = self.page.header, self.actions_of_run, self.page.outcome
        head.picked.connect(self.show_run)
        head.checkpoint_wanted.connect(lambda: asks.checkpoint(self.run_id))
        head.pause_wanted.connect(self._pause_or_go_on)
        head.stop_wanted.connect(lambda: asks.stop(self.run_id, self._name))
        head.cancel_wanted.connect(lambda: asks.cancel(self.run_id))
        self.page.folder.clicked.connect(self._open_folder)
        for wish in (head.resume_wanted, out.resume_wanted):
            wish.connect(lambda: asks.resume(self.run_id))
        out.compare_wanted.connect(lambda: self.context.navigate("runs", run=self.run_id))
        out.export_wanted.connect(lambda: self.context.navigate("export", run=self.run_id))
        out.clone_wanted.connect(self._clone)
        bound: dict[str, Callable[[], object]] = {
            "log": self.page.toggle_log,
            "save": lambda: _press(head.checkpoint),
            "pause": lambda: _press(head.pause),
            "previous": lambda: self.page.samples.go(-1),
            "next": lambda: self.page.samples.go(1),
        }
        for name, action in bound.items():
            shortcut = QShortcut(QKeySequence(self._keys[name].keys), self)
            shortcut.setContext(Qt.ShortcutContext.WindowShortcut)  # of a screen that is seen: hidden ones are deaf
            shortcut.setAutoRepeat(False)
            shortcut.activated.connect(action)

    def _pause_or_go_on(self) -> None:
        if self._shot is not None:
            ask = self.actions_of_run.unpause if self._shot.row.status == "paused" else self.actions_of_run.pause
            ask(self.run_id)

    def _clone(self) -> None:
        if self._shot is not None and self._shot.recipe is not None:
            self.context.services.document.replace(self._shot.recipe)
            self.context.navigate("new", step="method")

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.context.services.home.run(self.run_id).path)))


def _press(button: Button) -> None:
    """A key does what its button does, where the button is there."""
    if button.isVisible():
        button.click()
