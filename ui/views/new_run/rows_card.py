"""The rows of a dataset in a table, with a search, and what stands there while there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStackedWidget, QStyleOptionViewItem, QWidget

from ui import theme as themes
from ui.context import Context
from ui.format import number
from ui.tr import tr
from ui.viewmodels.data_rows import DataRows, RowsQuestion
from ui.widgets.badge import STATE_ROLE, BadgeDelegate
from ui.widgets.card import Card
from ui.widgets.cells import TextDelegate
from ui.widgets.empty_state import EmptyState
from ui.widgets.error_card import ErrorCard
from ui.widgets.field import TextField
from ui.widgets.table import DataTable
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.datasets import DataStatistics

SEARCH_DELAY_MILLISECONDS = 250


class QuietBadgeDelegate(BadgeDelegate):
    """Only what needs attention is a badge; a neutral state is quiet text."""

    def __init__(self, table: DataTable) -> None:
        super().__init__(table)
        self._quiet = TextDelegate(table)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """A badge, or text."""
        (self._quiet.paint if index.data(STATE_ROLE) == "neutral" else super().paint)(painter, option, index)


class RowsCard(Card):
    """`row_selected` carries a RowSummary or None; `search_changed` what to look for."""

    row_selected = Signal(object)
    search_changed = Signal(str)

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(tr("Rows"), " ", parent=parent)
        self.setProperty("pane", "rows")
        self._limit, self._summary = 0, ""
        self._loading = EmptyState(tr("Reading rows…"))
        self.rows = DataRows(context, self)
        self.field = TextField(tr("Search rows"), placeholder=tr("Search rows"), icon="search")
        self.field.setFixedWidth(themes.current().px(150))
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(SEARCH_DELAY_MILLISECONDS)
        self._typed.timeout.connect(lambda: self.search_changed.emit(self.field.text().strip()))
        self.field.textChanged.connect(lambda: self._typed.start())
        self.add_to_header(self.field)
        self._stack = QStackedWidget()
        self.body.setContentsMargins(0, 0, 0, 4)
        self.body.addWidget(self._stack, 1)
        self._add_pages()
        self.rows.paged.connect(self._paged)
        self.rows.failed.connect(self._failed)

    def show_rows(self, question: RowsQuestion | None, limit: int) -> None:
        """Ask for rows; the same question with the same limit is not asked twice."""
        if question == self.rows.question and limit == self._limit:
            return
        self._limit = limit
        self._stack.setCurrentWidget(self._loading)
        self.row_selected.emit(None)
        self.rows.ask(question, limit)

    def show_summary(self, statistics: DataStatistics | None) -> None:
        """How the rows are split, once they are counted; until then how many have come."""
        self._summary = ""
        if statistics is not None:
            self._summary = tr(
                "{training} training · {evaluation} evaluation · {left} left out",
                training=number(statistics.training.rows), evaluation=number(statistics.evaluation.rows),
                left=number(statistics.rows_left_out),
            )  # fmt: skip
        self._show_meta()

    def _add_pages(self) -> None:
        self.table = DataTable(tr("Rows of the dataset"))
        self.table.setModel(self.rows)
        numbers = TextDelegate(self.table, number=True)
        self.table.set_column(0, 46, numbers)
        self.table.set_column(1, None, TextDelegate(self.table, strong=True))
        for column, width in ((2, 54), (3, 64), (4, 66)):
            self.table.set_column(column, width, numbers)
        self.table.set_column(5, 92, QuietBadgeDelegate(self.table))
        self.table.keep_width(1, 130, (2, 4))
        self.table.selectionModel().currentRowChanged.connect(self._row_changed)
        self._nothing = EmptyState(tr("No rows"), tr("Nothing matches the search or the filter."))
        self._error = ErrorCard()
        for page in (self._loading, self.table, self._nothing, self._error):
            self._stack.addWidget(page)

    def _paged(self) -> None:
        count = self.rows.rowCount()
        if count:
            self._stack.setCurrentWidget(self.table)
            if not self.table.currentIndex().isValid():
                self.table.selectRow(0)
        elif self.rows.complete:
            self._stack.setCurrentWidget(self._nothing)
        self._show_meta()

    def _show_meta(self) -> None:
        count, question = self.rows.rowCount(), self.rows.question
        words = tr("{count} rows", count=number(count))
        if not self.rows.complete:
            words = tr("first {count} rows, more below", count=number(count))
        filtered = question is not None and (question.search or question.issue)
        whole = self._summary or (words if count else "")
        self.meta.setText(tr("{rows} · filtered", rows=words) if filtered else whole)

    def _failed(self, error: Exception) -> None:
        words = words_for(error)
        self.meta.setText("")
        self._error.show_error(words.what, words.remedy, report=lambda: repr(error))
        self._stack.setCurrentWidget(self._error)

    def _row_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self.row_selected.emit(self.rows.row_at(current.row()))
