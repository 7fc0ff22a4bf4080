"""The Hub tab of the Model step: search as you type, filters, and the table of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from ui import theme as themes
from ui.context import Context
from ui.format import number
from ui.tr import plural, tr
from ui.viewmodels.hub_rows import HubRows
from ui.viewmodels.hub_search import HubSearch
from ui.widgets.badge import BadgeDelegate
from ui.widgets.button import Button
from ui.widgets.cells import TextDelegate
from ui.widgets.chip import Chip, FlowLayout
from ui.widgets.combo import Combo
from ui.widgets.empty_state import EmptyState
from ui.widgets.error_card import ErrorCard
from ui.widgets.field import TextField
from ui.widgets.menu_chip import MenuChip
from ui.widgets.table import DataTable
from ui.widgets.text import Text
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.hub.records import ModelSummary, SearchPage, SearchQuery

_OFFLINE = ("hub_offline", "hub_unreachable")
_ENOUGH_ROWS = 12
Bounds = tuple[int | None, int | None]


class HubTab(QWidget):
    """`selected` carries a ModelSummary or None; `activated` one that Enter was pressed on; `disk_wanted`: offline."""

    selected = Signal(object)
    activated = Signal(object)
    disk_wanted = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = HubRows(self)
        self.search = HubSearch(context.tasks, context.services, self)
        self._asked: SearchQuery | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(self._search_row())
        column.addWidget(self._chips())
        self._stack = QStackedWidget()
        column.addWidget(self._stack, 1)
        self._add_states()
        self._note = Text("", size=12, tone="tx3")
        column.addWidget(self._note)
        self.search.began.connect(self._began)
        self.search.paged.connect(self._paged)
        self.search.failed.connect(self._failed)
        self.rows.more_wanted.connect(self.search.more)

    def ask(self, *, again: bool = False) -> None:
        """Search for what field, chips and sort say; the same question is not asked twice, but for `again`."""
        query = self._query()
        if again or query != self._asked:
            self._asked = query
            self.search.ask(query)

    def rest(self) -> None:
        """Nobody looks: a search that has not answered yet ends, and is asked again with the next `ask`."""
        if self.search.pending:
            self.search.cancel()
            self._asked = None

    def focus_search(self) -> None:
        """Put the cursor into the field."""
        self.field.setFocus()
        self.field.selectAll()

    def current(self) -> ModelSummary | None:
        """The selected model."""
        return self.rows.model_at(self.table.currentIndex().row())

    def _search_row(self) -> QHBoxLayout:
        self.field = TextField(tr("Search models"), placeholder=tr("Search by name or organisation"), icon="search")
        self.field.textEdited.connect(lambda: self.ask())
        self.field.returnPressed.connect(lambda: self.ask())
        self.sort = Combo(tr("Sort"), [
            ("downloads", tr("Sort: downloads")), ("trending", tr("Sort: trending")), ("likes", tr("Sort: likes")),
            ("updated", tr("Sort: last updated")), ("created", tr("Sort: newest")),
        ])  # fmt: skip
        self.sort.picked.connect(lambda _value: self.ask())
        self.sort.setMinimumWidth(themes.current().px(170))
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.field, 1)
        row.addWidget(self.sort)
        return row

    def _chips(self) -> QWidget:
        self.supported = Chip(tr("Architecture supported"))
        self.supported.setChecked(True)
        self.supported.toggled.connect(self._filter)
        billion = 1_000_000_000
        self.parameters = MenuChip(tr("Size"), [
            ((None, None), tr("any")), ((None, billion), tr("under 1 B")), ((billion, 4 * billion), tr("1 to 4 B")),
            ((4 * billion, 15 * billion), tr("4 to 15 B")), ((15 * billion, None), tr("over 15 B")),
        ])  # fmt: skip
        self.licence = MenuChip(tr("Licence"), [
            ("", tr("any")), ("apache-2.0", "Apache-2.0"), ("mit", "MIT"), ("llama3.2", "Llama 3.2"),
        ])  # fmt: skip
        self.gated = MenuChip(tr("Gated"), [(None, tr("show")), (False, tr("hide")), (True, tr("only"))])
        self.chat = Chip(tr("Chat models"))
        self.chat.setChecked(True)
        self.chat.toggled.connect(lambda _on: self.ask())
        self._clear = Button(tr("Clear filters"), kind="quiet")
        self._clear.clicked.connect(self._clear_filters)
        holder = QWidget()
        flow = FlowLayout(holder, gap=6)
        for chip in (self.supported, self.parameters, self.licence, self.gated, self.chat, self._clear):
            flow.addWidget(chip)
        for menu in (self.parameters, self.licence, self.gated):
            menu.picked.connect(lambda _value: self.ask())
        return holder

    def _add_states(self) -> None:
        self.table = DataTable(tr("Models on the Hub"), density="two-line")
        self.table.setModel(self.rows)
        numbers = TextDelegate(self.table, number=True)
        self.table.set_column(0, None, TextDelegate(self.table, strong=True))
        for column, width in ((1, 76), (2, 88), (3, 92)):
            self.table.set_column(column, width, numbers)
        self.table.set_column(4, 92)
        self.table.set_column(5, 112)
        self.table.set_column(6, 208, BadgeDelegate(self.table))
        self.table.keep_width(0, 170, (4, 3, 5, 2))
        self.table.selectionModel().currentRowChanged.connect(self._row_changed)
        self.table.activated.connect(self._row_activated)
        self._loading = EmptyState(tr("Searching the Hub…"), icon="cloud")
        again, disk = Button(tr("Try again")), Button(tr("Models on this disk"), icon="disk", kind="primary")
        again.clicked.connect(lambda: self.ask(again=True))
        disk.clicked.connect(self.disk_wanted)
        self._offline = EmptyState(
            tr("The Hub cannot be reached"),
            tr("Models on this disk still work: pick one there, or check the network."),
            icon="cloud", actions=[disk, again],
        )  # fmt: skip
        clear = Button(tr("Clear search and filters"))
        clear.clicked.connect(self._clear_all)
        self._nothing = EmptyState(tr("No model matches"), tr("Try fewer words, or fewer filters."), icon="search",
                                   actions=[clear])  # fmt: skip
        self._error = ErrorCard()
        holder = QWidget()
        inner = QVBoxLayout(holder)
        inner.setContentsMargins(0, 12, 0, 0)
        inner.addWidget(self._error)
        inner.addStretch(1)
        self._error_page = holder
        for page in (self.table, self._loading, self._offline, self._nothing, self._error_page):
            self._stack.addWidget(page)

    def _query(self) -> SearchQuery:
        from studio.hub.records import SearchQuery

        low, high = self.parameters.value if isinstance(self.parameters.value, tuple) else (None, None)
        gated = self.gated.value
        return SearchQuery(
            text=self.field.text().strip(), licence=str(self.licence.value),
            gated=gated if isinstance(gated, bool) else None, minimum_parameters=low, maximum_parameters=high,
            tags=("conversational",) if self.chat.isChecked() else (), sort=self.sort.currentData(),
        )  # fmt: skip

    def _began(self) -> None:
        self.rows.begin()
        self.field.set_note("")
        self._note.setText("")
        self._stack.setCurrentWidget(self._loading)
        self.selected.emit(None)

    def _paged(self, page: SearchPage) -> None:
        self.rows.add(page.models, is_last=page.is_last)
        self._show_counts()

    def _failed(self, error: Exception) -> None:
        self.rows.stop_waiting()
        if self.rows.counts[1]:  # a further page failed: what has come stays, scrolling asks again
            self._note.setText(str(words_for(error)))
            return
        self._asked = None
        if getattr(error, "code", "") in _OFFLINE:
            self._stack.setCurrentWidget(self._offline)
            return
        words, again = words_for(error), Button(tr("Try again"), kind="primary")
        again.clicked.connect(lambda: self.ask(again=True))
        self._error.show_error(words.what, words.remedy, actions=[again], report=lambda: repr(error))
        self._stack.setCurrentWidget(self._error_page)

    def _show_counts(self) -> None:
        shown, found, more = self.rows.counts
        if shown < _ENOUGH_ROWS and self.rows.canFetchMore(QModelIndex()):
            self.rows.fetchMore(QModelIndex())
        waiting = more and shown < _ENOUGH_ROWS
        self._stack.setCurrentWidget(self.table if shown else self._loading if waiting else self._nothing)
        words = plural(found, "{shown} of {count} model", "{shown} of {count} models", shown=number(shown))
        self.field.set_note(tr("{count}, more below", count=words) if more else words)
        words = tr("Fit is told for a model that is selected or on this disk.  ~ estimated")
        self._note.setText(words if shown else "")

    def _filter(self, supported_only: bool) -> None:
        self.rows.show_supported_only(supported_only)
        self._show_counts()

    def _clear_filters(self) -> None:
        for menu, value in ((self.parameters, (None, None)), (self.licence, ""), (self.gated, None)):
            menu.set_value(value)
        self.supported.setChecked(False)
        self.chat.setChecked(False)
        self.ask()

    def _clear_all(self) -> None:
        self.field.clear()
        self._clear_filters()
        self.ask()

    def _row_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self.selected.emit(self.rows.model_at(current.row()))

    def _row_activated(self, index: QModelIndex) -> None:
        self.activated.emit(self.rows.model_at(index.row()))
