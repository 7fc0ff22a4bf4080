"""The history as a table that is paged from SQLite: only the pages that somebody looks at are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from studio.runs.query import RunQuery, SortKey
from studio.runs.rows import RunRow
from ui.bridge import Latest, Tasks
from ui.format import DASH, date_time, duration, loss, number
from ui.services import Services
from ui.tr import tr
from ui.viewmodels.run_words import method_words, state_words, table_state
from ui.widgets.badge import ICON_ROLE, STATE_ROLE
from ui.widgets.sparkline import SLOT_ROLE

Index = QModelIndex | QPersistentModelIndex
PAGE = 100
RUN_ROLE = Qt.ItemDataRole.UserRole + 40
TICK, LINE, NAME, STATE, MODEL, DATASET, METHOD, EVALUATION, STEP, DURATION, STARTED, TAGS = range(12)
NUMBERS = (EVALUATION, STEP, DURATION)
SORTS: dict[int, SortKey] = {
    NAME: "name", STATE: "status", MODEL: "model", DATASET: "dataset", METHOD: "method",
    EVALUATION: "best_evaluation_loss", STEP: "step", DURATION: "seconds", STARTED: "created_utc",
}  # fmt: skip
MOST_TICKS = 8


@dataclass(frozen=True)
class _Read:
    query: RunQuery
    total: int
    everything: int
    pages: dict[int, list[RunRow]]


class RunTable(QAbstractTableModel):
    """`ask` for another query, `refresh` for the same. `changed` after each read; `ticks_changed` with every tick."""

    changed = Signal()
    failed = Signal(object)
    ticks_changed = Signal()
    rename_wanted = Signal(str, str)
    tags_wanted = Signal(str, object)

    def __init__(self, tasks: Tasks, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._services = services
        self._reads = Latest(tasks, self)
        self._query = RunQuery()
        self._total = 0
        self._pages: dict[int, list[RunRow]] = {}
        self._wanted: set[int] = {0}
        self._again = False
        self.is_held: Callable[[], bool] = lambda: False
        """Whether what is read must wait, because a cell is being edited; the table asks for a refresh afterwards."""
        self.everything: int | None = None
        self.ticked: dict[str, int] = {}
        """Run id → slot 1 to 8. A run keeps its slot as long as it is ticked."""

    @property
    def query(self) -> RunQuery:
        """What is asked for."""
        return self._query

    def ask(self, query: RunQuery) -> None:
        """Show another selection of runs, from its top."""
        self._query, self._wanted = query, {0}
        self._reads.cancel()
        self._read()

    def refresh(self) -> None:
        """Read again what is looked at; reads in a row are joined."""
        if self._reads.pending:
            self._again = True
        else:
            self._read()

    def stop(self) -> None:
        """Forget what is being read."""
        self._reads.cancel()

    def run_at(self, row: int) -> RunRow | None:
        """The run in a row; None while its page is being read."""
        page = self._pages.get(row // PAGE)
        if page is None:
            return None
        return page[row % PAGE] if row % PAGE < len(page) else None

    def row_of(self, run_id: str) -> int | None:
        """The row of a run among the pages that have been read."""
        for number_, page in self._pages.items():
            for offset, run in enumerate(page):
                if run.id == run_id:
                    return number_ * PAGE + offset
        return None

    def toggle(self, run_id: str, on: bool | None = None) -> bool:
        """Tick or untick. Returns False where all eight slots are taken."""
        if run_id in self.ticked and on is not True:
            del self.ticked[run_id]
        elif run_id not in self.ticked and on is not False:
            free = [slot for slot in range(1, MOST_TICKS + 1) if slot not in self.ticked.values()]
            if not free:
                return False
            self.ticked[run_id] = free[0]
        self._repaint()
        self.ticks_changed.emit()
        return True

    def forget(self, run_ids: frozenset[str]) -> None:
        """Runs that were deleted keep no tick."""
        if run_ids & self.ticked.keys():
            for run_id in run_ids & self.ticked.keys():
                del self.ticked[run_id]
            self.ticks_changed.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default argument
        """How many runs the query finds."""
        return 0 if parent.isValid() else self._total

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default argument
        """Twelve."""
        return 0 if parent.isValid() else 12

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Name and tags are edited in place."""
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() in (NAME, TAGS) else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """One cell; a page that is not there yet is asked for."""
        run = self.run_at(index.row())
        if run is None:
            self._want(index.row() // PAGE)
            return "…" if role == Qt.ItemDataRole.DisplayRole and index.column() == NAME else None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(run, index.column())
        if role == Qt.ItemDataRole.EditRole:
            return run.name if index.column() == NAME else ", ".join(run.tags)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(run, index.column())
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == TICK:
            return Qt.CheckState.Checked if run.id in self.ticked else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == TICK:
            return tr("compare {name}", name=run.name)
        special = {
            RUN_ROLE: run.id,
            SLOT_ROLE: self.ticked.get(run.id),
            STATE_ROLE: state_words(run.status).state,
            ICON_ROLE: state_words(run.status).icon,
        }
        return special.get(role)

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """An edit goes to the run's user.json; the table shows it when the history has it."""
        run = self.run_at(index.row())
        if run is None or role != Qt.ItemDataRole.EditRole:
            return False
        if index.column() == NAME and str(value).strip() and str(value).strip() != run.name:
            self.rename_wanted.emit(run.id, str(value).strip())
        elif index.column() == TAGS:
            self.tags_wanted.emit(run.id, tuple(part.strip() for part in str(value).split(",") if part.strip()))
        return True

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Labels; numbers stand at the right."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in NUMBERS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return (
            "", tr("Line"), tr("Run"), tr("State"), tr("Model"), tr("Dataset"), tr("Method"), tr("Evaluation loss"),
            tr("Step"), tr("Duration"), tr("Launched"), tr("Tags"),
        )[section]  # fmt: skip

    def _text(self, run: RunRow, column: int) -> str:
        match column:
            case 1:
                slot = self.ticked.get(run.id)
                return "" if slot is None else letter(slot)
            case 2:
                return run.name
            case 3:
                return table_state(run)
            case 4:
                return run.model
            case 5:
                return run.dataset
            case 6:
                return method_words(run)
            case 7:
                best = run.best_evaluation_loss
                return DASH if best is None else loss(best)
            case 8:
                return number(run.step)
            case 9:
                return duration(run.seconds) if run.seconds else DASH
            case 10:
                return date_time(run.started_utc or run.created_utc)
            case 11:
                return ", ".join(run.tags)
            case _:
                return ""

    def _tip(self, run: RunRow, column: int) -> str:
        if column == STATE and run.reason is not None:
            return run.reason.message
        if column == NAME and run.notes:
            return f"{run.name}\n{run.notes}"
        return self._text(run, column)

    def _want(self, page: int) -> None:
        if page not in self._wanted:
            self._wanted = {*sorted(self._wanted, key=lambda seen: abs(seen - page))[:3], page}
            self.refresh()

    def _read(self) -> None:
        self._again = False
        query, wanted = self._query, sorted(self._wanted)

        def work(control: object) -> _Read:
            store = self._services.store
            pages = {page: store.runs(query, offset=page * PAGE, limit=PAGE) for page in wanted}
            return _Read(query, store.count(query), store.count(RunQuery(archived=None)), pages)

        self._reads.request(work, self._take, self.failed.emit)

    def _take(self, read: _Read) -> None:
        if read.query != self._query or self.is_held():
            return
        reset = read.total != self._total or [*read.pages] != [*self._pages]
        if reset:
            self.beginResetModel()
        self._total, self._pages, self.everything = read.total, read.pages, read.everything
        if reset:
            self.endResetModel()
        else:
            self._repaint()
        self.changed.emit()
        if self._again:
            self._read()

    def _repaint(self) -> None:
        if self._total:
            self.dataChanged.emit(self.index(0, 0), self.index(self._total - 1, 11))


def letter(slot: int) -> str:
    """A for slot 1, and so on to H."""
    return "ABCDEFGH"[slot - 1]
