"""Runs: the history, searched and filtered in SQLite, and the comparison of what is ticked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from studio.runs.ingest import Changes
from studio.runs.query import RunQuery
from studio.runs.rows import ACTIVE, RunRow, Status
from ui.bridge import Latest
from ui.context import Command, Context
from ui.format import number
from ui.shortcuts import shortcuts, shown
from ui.tr import plural, tr
from ui.view import View
from ui.viewmodels import run_table as columns
from ui.viewmodels.comparison import Compared, read_comparison
from ui.viewmodels.run_table import RunTable
from ui.views.runs.compare_panel import ComparePanel, names_of
from ui.views.runs.history_table import HistoryTable
from ui.views.runs.run_actions import HistoryActions
from ui.views.runs.run_menu import run_menu
from ui.widgets.button import Button, IconButton
from ui.widgets.card import Card
from ui.widgets.chip import Chip
from ui.widgets.empty_state import EmptyState
from ui.widgets.error_card import ErrorCard
from ui.widgets.field import TextField
from ui.widgets.menu_chip import MenuChip
from ui.widgets.text import Text
from ui.widgets.toast import Message
from ui.wording import words_for

SEARCH_MILLISECONDS = 200
COMPARE_MILLISECONDS = 1500
SHARES = (268, 476)
_STATES: dict[str, tuple[Status, ...]] = {
    "any": (),
    "active": tuple(sorted(ACTIVE)),
    "finished": ("finished",),
    "stopped": ("stopped",),
    "bad": ("failed", "lost", "unreadable"),
}


class RunsView(View):
    """`arrive(run=id)` ticks that run, so that one more makes a comparison."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._keys = shortcuts(context.services.settings.load().shortcuts)
        self._here = False
        self.model = RunTable(context.tasks, context.services, self)
        self.history_actions = HistoryActions(context, self)
        self._comparisons = Latest(context.tasks, self)
        self._again = QTimer(self)  # a run at work has news ten times a second; a comparison needs them less often
        self._again.setSingleShot(True)
        self._again.setInterval(COMPARE_MILLISECONDS)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(SEARCH_MILLISECONDS)
        self._build()
        self._connect()

    def arrive(self, **arguments: object) -> None:
        """Read what is looked at; tick the run that was named."""
        self._here = True
        run = arguments.get("run")
        if isinstance(run, str) and run:
            self.model.toggle(run, True)
        self.model.refresh()

    def leave(self) -> None:
        """Nothing is read for a screen that nobody sees."""
        self._here = False
        self.model.stop()

    def shutdown(self) -> None:
        """The window closes."""
        self._typing.stop()
        self._again.stop()
        self.model.stop()
        self._comparisons.cancel()
        self.compare.shutdown()

    def crumbs(self) -> Sequence[str]:
        """Runs › what is compared."""
        slots = list(self.model.ticked.values())
        return (tr("Runs"), tr("Compare {runs}", runs=names_of(slots))) if len(slots) > 1 else (tr("Runs"),)

    def commands(self) -> Sequence[Command]:
        """What can be done with the current run."""
        menu = self.run_menu()
        name = self._current_name()
        return [
            Command(action.text().replace("&&", "&"), action.trigger, name, icon="list")
            for action in (menu.actions() if menu is not None else [])
            if action.text() and action.isEnabled()
        ]

    def run_menu(self) -> QMenu | None:
        """What can be done with the current run; None without one."""
        run = self._current()
        if run is None:
            return None
        for old in self.findChildren(QMenu, "run-menu"):
            old.deleteLater()
        return run_menu(run, self, self.table, self.history_actions, self._delete)

    def _current(self) -> RunRow | None:
        index = self.table.currentIndex()
        return self.model.run_at(index.row()) if index.isValid() else None

    def _current_name(self) -> str:
        run = self._current()
        return run.name if run is not None else ""

    def _delete(self) -> None:
        run = self._current()
        if run is not None:
            self.history_actions.delete({run.id: run.name})

    def _query(self) -> RunQuery:
        before = self.model.query
        archived = None if self.archived.isChecked() else False
        statuses = _STATES[str(self.state.value)]
        return RunQuery(
            search=self.search.text(), statuses=statuses, archived=archived, sort=before.sort,
            descending=before.descending,
        )  # fmt: skip

    def _ask(self) -> None:
        self.model.ask(self._query())

    def _sort(self, column: int) -> None:
        header = self.table.horizontalHeader()
        key = columns.SORTS.get(column)
        query = self.model.query
        if key is None:
            return
        descending = not query.descending if query.sort == key else column in (*columns.NUMBERS, columns.STARTED)
        header.setSortIndicator(column, Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder)
        self.model.ask(
            RunQuery(search=query.search, statuses=query.statuses, archived=query.archived, sort=key,
                     descending=descending)
        )  # fmt: skip

    def _clear(self) -> None:
        self.search.clear()
        self.state.set_value("any")
        self.archived.setChecked(False)
        self._ask()

    def _runs_changed(self, changes: Changes) -> None:
        self.model.forget(changes.removed)
        if self._here:
            self.model.refresh()
            if changes.changed & self.model.ticked.keys() and not self._again.isActive():
                    self._again.start()

    def _shown(self) -> None:
        """After each read: the table, or why there is none."""
        if self.model.everything == 0:
            self._pages.setCurrentWidget(self.empty)
            return
        self._pages.setCurrentWidget(self._content)
        total = self.model.rowCount()
        self._lists.setCurrentWidget(self.table if total else self.no_match)
        everything = self.model.everything or 0
        text = plural(everything, "{shown} of {count} run", "{shown} of {count} runs", shown=number(total))
        if self.model.ticked:
            text += " · " + tr("{count} ticked", count=number(len(self.model.ticked)))
        self.count.setText(text)
        if total and not self.table.currentIndex().isValid():
            self.table.setCurrentIndex(self.model.index(0, columns.NAME))
        self.more.setEnabled(total > 0)

    def _ticked(self) -> None:
        self._shown()
        self.crumbs_changed.emit()
        self._compare()

    def _compare(self) -> None:
        ticked = dict(self.model.ticked)
        if len(ticked) < 2:
            self._comparisons.cancel()
            self.compare.clear(tr("Tick one more run to compare it.") if ticked else "")
            return
        self._comparisons.request(
            lambda control: read_comparison(self.context.services.store, ticked),
            self._show_comparison,
            lambda error: self.compare.clear(str(words_for(error))),
        )

    def _show_comparison(self, data: Compared) -> None:
        first = self.compare.data is None
        self.compare.show_comparison(data)
        if first:
            self._splitter.setSizes(list(SHARES))

    def _failed(self, error: Exception) -> None:
        words = words_for(error)
        retry = Button(tr("Try again"), icon="redo", kind="primary")
        retry.clicked.connect(self.model.refresh)
        self.error.show_error(words.what, words.remedy, actions=[retry], report=lambda: repr(error))
        self._pages.setCurrentWidget(self.error_page)

    def _build(self) -> None:
        self.search = TextField(tr("Search runs"), placeholder=tr("Search name, tag, model or dataset"), icon="search")
        self.search.setFixedWidth(280)
        self.state = MenuChip(
            tr("State"),
            [("any", tr("any")), ("active", tr("at work")), ("finished", tr("finished")), ("stopped", tr("stopped")),
             ("bad", tr("failed or lost"))],
        )  # fmt: skip
        self.archived = Chip(tr("With archived"))
        self.count = Text("", size=12, tone="tx2")
        self.more = IconButton("more", tr("Actions of the run"), kind="normal")
        self.table = HistoryTable(self.model)
        self.model.is_held = lambda: self.table.is_editing
        self.compare = ComparePanel()
        new = Button(tr("New run"), icon="plus", kind="primary", size="medium", keys=shown(self._keys["new"].keys))
        new.clicked.connect(lambda: self.context.navigate("new"))
        text = tr("Runs appear here, with their charts and settings.")
        self.empty = EmptyState(tr("No runs yet"), text, icon="list", actions=[new])
        clear = Button(tr("Clear the filters"), icon="cross")
        clear.clicked.connect(self._clear)
        self.no_match = EmptyState(tr("No run matches"), tr("The search or a filter leaves nothing."), actions=[clear])
        self.error = ErrorCard()
        self.error_page = QWidget()
        around = QVBoxLayout(self.error_page)
        around.setContentsMargins(20, 12, 20, 12)
        around.addWidget(self.error)
        around.addStretch(1)
        self.loading = Text(tr("Reading the history…"), tone="tx3")
        self.loading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._content = self._lay_out()
        self._pages = QStackedWidget(self)
        for page in (self.loading, self._content, self.empty, self.error_page):
            self._pages.addWidget(page)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._pages)

    def _lay_out(self) -> QWidget:
        page = QWidget()
        bar = QHBoxLayout()
        bar.setSpacing(8)
        for widget in (self.search, self.state, self.archived):
            bar.addWidget(widget)
        bar.addStretch(1)
        bar.addWidget(self.count)
        bar.addWidget(self.more)
        card = Card()
        card.setProperty("pane", "runs")
        card.body.setContentsMargins(0, 0, 0, 0)
        self._lists = QStackedWidget()
        self._lists.addWidget(self.table)
        self._lists.addWidget(self.no_match)
        card.body.addWidget(self._lists)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setHandleWidth(12)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(card)
        splitter.addWidget(self.compare)
        splitter.setSizes(list(SHARES))
        self._splitter = splitter
        splitter.setProperty("bare", True)
        column = QVBoxLayout(page)
        column.setContentsMargins(20, 12, 20, 12)
        column.setSpacing(10)
        column.addLayout(bar)
        column.addWidget(splitter, 1)
        return page

    def _connect(self) -> None:
        self.search.textChanged.connect(lambda text: self._typing.start())
        self._typing.timeout.connect(self._ask)
        self._again.timeout.connect(lambda: self._compare() if self._here else None)
        self.state.picked.connect(lambda value: self._ask())
        self.archived.toggled.connect(lambda on: self._ask())
        self.more.clicked.connect(lambda: self._open_menu(self.more.mapToGlobal(QPoint(0, self.more.height() + 4))))
        self.model.changed.connect(self._shown)
        self.model.failed.connect(self._failed)
        self.model.ticks_changed.connect(self._ticked)
        self.model.rename_wanted.connect(lambda run, name: self.history_actions.change(run, name=name))
        self.model.tags_wanted.connect(lambda run, tags: self.history_actions.change(run, tags=tags))
        self.table.opened.connect(lambda run: self.context.navigate("live", run=run))
        self.table.delete_wanted.connect(self._delete)
        self.table.edited.connect(self.model.refresh)
        self.table.menu_wanted.connect(self._open_menu)
        self.table.tick_refused.connect(
            lambda: self.context.toast(Message("warn", tr("Eight runs are ticked"), tr("Untick one first.")))
        )
        self.table.horizontalHeader().sectionClicked.connect(self._sort)
        self.context.watch.changed.connect(self._runs_changed)
        bound = {
            "search": self.search.setFocus,
            "differences": self.compare.differences.toggle,
            "refresh": self.model.refresh,
        }
        for name, action in bound.items():
            shortcut = QShortcut(QKeySequence(self._keys[name].keys), self)
            shortcut.setContext(Qt.ShortcutContext.WindowShortcut)  # of a screen that is seen: hidden ones are deaf
            shortcut.activated.connect(action)

    def _open_menu(self, at: QPoint) -> None:
        menu = self.run_menu()
        if menu is not None:
            menu.popup(at)
