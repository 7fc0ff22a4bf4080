"""The results of a Hub search as a table that asks for more while it is scrolled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from ui.format import DASH, compact, disk, estimated
from ui.tr import tr
from ui.viewmodels.fit import Fit, Mark, model_mark
from ui.widgets.badge import STATE_ROLE
from ui.widgets.cells import SECOND_LINE_ROLE, TONE_ROLE

if TYPE_CHECKING:
    from studio.hub.records import Access, ModelSummary

Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("model", "parameters", "size", "downloads", "licence", "access", "fit")
_ROOT = QModelIndex()


class HubRows(QAbstractTableModel):
    """Rows of a search, page by page. `more_wanted`: the view has come to the end and there is more."""

    more_wanted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._found: list[ModelSummary] = []
        self._shown: list[ModelSummary] = []
        self._supported_only = True
        self._is_last, self._waiting = True, False
        self._fits: dict[str, tuple[Fit, ...]] = {}
        self._access: dict[str, Access] = {}

    def begin(self) -> None:
        """Forget the rows; a new search is under way."""
        self.beginResetModel()
        self._found, self._shown = [], []
        self._is_last, self._waiting = True, True
        self.endResetModel()

    def add(self, models: Iterable[ModelSummary], *, is_last: bool) -> None:
        """One more page."""
        new = list(models)
        shown = [model for model in new if self._wanted(model)]
        self._found += new
        self._is_last, self._waiting = is_last, False
        if shown:
            self.beginInsertRows(_ROOT, len(self._shown), len(self._shown) + len(shown) - 1)
            self._shown += shown
            self.endInsertRows()

    def stop_waiting(self) -> None:
        """The page that was asked for will not come; scrolling asks again."""
        self._waiting = False

    def show_supported_only(self, supported_only: bool) -> None:
        """Leave out what cannot be trained, or show it with its reason."""
        self.beginResetModel()
        self._supported_only = supported_only
        self._shown = [model for model in self._found if self._wanted(model)]
        self.endResetModel()

    def learn(self, repository: str, fits: tuple[Fit, ...], access: Access | None = None) -> None:
        """What the details of a model have told about its row."""
        self._fits[repository] = fits
        if access is not None:
            self._access[repository] = access
        row = self.row_of(repository)
        if row is not None:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(COLUMNS) - 1))

    @property
    def counts(self) -> tuple[int, int, bool]:
        """Rows shown, rows found, and whether the Hub has more."""
        return len(self._shown), len(self._found), not self._is_last

    def model_at(self, row: int) -> ModelSummary | None:
        """The model of a row."""
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def row_of(self, repository: str) -> int | None:
        """Where a model stands, None where it is not shown."""
        return next((row for row, model in enumerate(self._shown) if model.repository == repository), None)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """The rows that have come so far."""
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Name, parameters, size, downloads, licence, access, fit."""
        return 0 if parent.isValid() else len(COLUMNS)

    def canFetchMore(self, parent: Index) -> bool:
        """Whether the Hub has more than we show."""
        return not parent.isValid() and not self._is_last and not self._waiting

    def fetchMore(self, parent: Index) -> None:
        """Ask for the next page; `add` brings it."""
        if self.canFetchMore(parent):
            self._waiting = True
            self.more_wanted.emit()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Column titles; numbers have theirs at the right."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and COLUMNS[section] in ("parameters", "size", "downloads"):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        titles = {
            "model": tr("Model"), "parameters": tr("Params"), "size": tr("Size"), "downloads": tr("Downloads"),
            "licence": tr("Licence"), "access": tr("Access"), "fit": tr("Fit on this machine"),
        }  # fmt: skip
        return titles[COLUMNS[section]] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Texts, second lines, tones and badges."""
        model = self.model_at(index.row())
        if model is None:
            return None
        column = COLUMNS[index.column()]
        if column == "fit":
            return _badge(self._mark(model), role)
        if column == "access":
            return self._access_cell(model, role)
        if role == Qt.ItemDataRole.DisplayRole:
            return _texts(model)[column]
        if role == SECOND_LINE_ROLE and column == "model":
            return tr("{author} · {architecture}", author=model.author, architecture=model.architecture or DASH)
        if role == Qt.ItemDataRole.ToolTipRole and column == "model":
            return self._mark(model).why if model.verdict.state == "refused" else model.repository
        if role == Qt.ItemDataRole.AccessibleTextRole and column == "model":
            return f"{model.repository}, {self._mark(model).text}. {self._mark(model).why}"
        return None

    def _wanted(self, model: ModelSummary) -> bool:
        return not self._supported_only or model.verdict.state != "refused"

    def _mark(self, model: ModelSummary) -> Mark:
        return model_mark(model.verdict, self._fits.get(model.repository, ()))

    def _access_cell(self, model: ModelSummary, role: int) -> object:
        access = self._access.get(model.repository, "open" if model.gating == "open" else None)
        words = {
            "open": (tr("Open"), "tx3"), "granted": (tr("Access granted"), "good"),
            "ask": (tr("Ask for access"), "warn"),
        }  # fmt: skip
        text, tone = words.get(access or "", (tr("Gated"), "warn"))
        return text if role == Qt.ItemDataRole.DisplayRole else tone if role == TONE_ROLE else None


def _texts(model: ModelSummary) -> Mapping[str, str]:
    return {
        "model": model.name,
        "parameters": compact(model.parameters) if model.parameters else DASH,
        "size": estimated(disk(model.weight_bytes)) if model.weight_bytes else DASH,
        "downloads": compact(model.downloads) if model.downloads is not None else DASH,
        "licence": model.licence or DASH,
    }


def _badge(mark: Mark, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole:
        return mark.text
    if role == STATE_ROLE:
        return mark.state
    return mark.why if role == Qt.ItemDataRole.ToolTipRole else None
