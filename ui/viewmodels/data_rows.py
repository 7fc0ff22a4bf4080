"""The rows of one dataset as a table that reads on while it is scrolled; the data worker pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from studio.recipes import Recipe
from ui.bridge import Control, Task
from ui.context import Context
from ui.format import DASH, number, signed
from ui.tr import tr
from ui.widgets.badge import ICON_ROLE, STATE_ROLE
from ui.widgets.cells import TONE_ROLE

if TYPE_CHECKING:
    from studio.datasets import RowsPaged, RowSummary

Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("row", "title", "turns", "tokens", "trained", "cut")
PAGE = 50
_ROOT = QModelIndex()


@dataclass(frozen=True)
class RowsQuestion:
    """Which rows: of dataset number `dataset`, with token counts by `tokenizer` (a folder) where there is one."""

    recipe: Recipe
    dataset: int = 0
    tokenizer: Path | None = None
    search: str = ""
    issue: str = ""


class DataRows(QAbstractTableModel):
    """`paged` follows each page; `failed` carries the exception of one that did not come."""

    paged = Signal()
    failed = Signal(object)

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._question: RowsQuestion | None = None
        self._rows: list[RowSummary] = []
        self._next, self._more, self._limit = 0, False, 0
        self._task: Task | None = None

    @property
    def question(self) -> RowsQuestion | None:
        """What is shown."""
        return self._question

    @property
    def complete(self) -> bool:
        """Whether all rows have come."""
        return not self._more

    @property
    def loading(self) -> bool:
        """Whether a page is on its way."""
        return self._task is not None

    def ask(self, question: RowsQuestion | None, limit: int) -> None:
        """Show these rows from the first on; `limit` is the sequence length in the last column's title."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.beginResetModel()
        self._question, self._rows, self._next, self._limit = question, [], 0, limit
        self._more = question is not None
        self.endResetModel()
        self.fetchMore(_ROOT)

    def row_at(self, row: int) -> RowSummary | None:
        """The summary of a table row."""
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """The rows that have come so far."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number, first turn, turns, tokens, trained, cut."""
        return 0 if parent.isValid() else len(COLUMNS)

    def canFetchMore(self, parent: Index) -> bool:
        """Whether rows follow that were not asked for yet."""
        return not parent.isValid() and self._more and self._task is None and self._question is not None

    def fetchMore(self, parent: Index) -> None:
        """Ask the data worker for the next page."""
        question = self._question
        if question is None or not self.canFetchMore(parent):
            return
        services, offset = self._context.services, self._next

        def work(control: Control) -> RowsPaged:
            return services.datasets.rows(
                question.recipe, dataset=question.dataset, tokenizer=question.tokenizer, offset=offset, count=PAGE,
                search=question.search, issue=question.issue,
            )  # fmt: skip

        self._task = self._context.tasks.run(work, owner=self, on_result=self._page_came, on_error=self._page_failed)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Column titles; numbers have theirs at the right."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and column in ("row", "turns", "tokens", "trained"):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        titles = {
            "row": "#", "title": tr("First user turn"), "turns": tr("Turns"), "tokens": tr("Tokens"),
            "trained": tr("Trained"), "cut": tr("At {length}", length=number(self._limit)),
        }  # fmt: skip
        return titles[column] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Texts, and the badge of what becomes of a row."""
        row = self.row_at(index.row())
        if row is None:
            return None
        column = COLUMNS[index.column()]
        if column == "cut":
            return _cut_cell(row, role)
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(row, column)
        if role == TONE_ROLE and column == "row":
            return "tx3"
        if role == Qt.ItemDataRole.ToolTipRole:
            return tr("{file}, line {line}. {reason}", file=row.place.file, line=number(row.place.line),
                      reason=row.place.reason)  # fmt: skip
        return None

    def _page_came(self, page: RowsPaged) -> None:
        self._task = None
        self._next, self._more = page.next_row, page.more
        if page.rows:
            self.beginInsertRows(_ROOT, len(self._rows), len(self._rows) + len(page.rows) - 1)
            self._rows += page.rows
            self.endInsertRows()
        self.paged.emit()
        if not page.rows and page.more:  # a search that has found nothing yet goes on
            self.fetchMore(_ROOT)

    def _page_failed(self, error: Exception) -> None:
        self._task = None
        if getattr(error, "code", "") == "data.cancelled":  # the worker was ended for something else: ask again
            self.fetchMore(_ROOT)
            return
        self._more = False
        self.failed.emit(error)


def _text(row: RowSummary, column: str) -> str:
    match column:
        case "row":
            return number(row.row + 1)
        case "title":
            return row.title or row.place.reason
        case "turns":
            return number(row.turns) if row.turns else DASH
        case "tokens":
            return number(row.tokens) if row.tokens is not None else DASH
        case _:
            return number(row.trained) if row.trained is not None else DASH


def _cut_cell(row: RowSummary, role: int) -> object:
    left_out = bool(row.place.reason)
    cut = row.cut > 0
    if role == Qt.ItemDataRole.DisplayRole:
        if left_out:
            return tr("Left out")
        return signed(-row.cut) if cut else tr("Whole") if row.tokens is not None else DASH
    if role == STATE_ROLE:
        return "bad" if left_out else "warn" if cut else "neutral"
    if role == TONE_ROLE:
        return "tx3"
    if role == ICON_ROLE:
        return "boxed-cross" if left_out else "cut" if cut else ""
    if role == Qt.ItemDataRole.ToolTipRole:
        return row.place.reason or (tr("{count} tokens are not trained on.", count=number(row.cut)) if cut else None)
    return None
