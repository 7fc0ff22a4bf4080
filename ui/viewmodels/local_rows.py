"""The models on this disk as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from studio.recipes import ModelRef
from ui.format import DASH, date_time, disk
from ui.tr import tr
from ui.viewmodels.fit import Fit, Mark, model_mark
from ui.widgets.badge import STATE_ROLE
from ui.widgets.cells import SECOND_LINE_ROLE

if TYPE_CHECKING:
    from studio.hub.records import LocalModel

Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("model", "revision", "size", "used", "fit")
_ROOT = QModelIndex()


def reference_of(model: LocalModel) -> ModelRef:
    """How a recipe names a model that is on this disk."""
    if model.origin == "folder":
        return ModelRef(source="folder", path=model.path)
    return ModelRef(repository=model.repository, revision=(*model.revisions, model.commit)[0])


class LocalRows(QAbstractTableModel):
    """Whole and incomplete models, with their fit once it is known."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._models: list[LocalModel] = []
        self._fits: dict[str, tuple[Fit, ...]] = {}

    def show(self, models: Sequence[LocalModel]) -> None:
        """Replace the rows."""
        self.beginResetModel()
        self._models = list(models)
        self.endResetModel()

    def learn(self, path: str, fits: tuple[Fit, ...]) -> None:
        """How the model at `path` fits."""
        self._fits[path] = fits
        for row, model in enumerate(self._models):
            if model.path == path:
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(COLUMNS) - 1))

    def fits_at(self, row: int) -> tuple[Fit, ...]:
        """What `learn` told about a row."""
        model = self.model_at(row)
        return self._fits.get(model.path, ()) if model else ()

    def model_at(self, row: int) -> LocalModel | None:
        """The model of a row."""
        return self._models[row] if 0 <= row < len(self._models) else None

    def row_of(self, reference: ModelRef) -> int | None:
        """Where the model of a recipe stands."""
        for row, model in enumerate(self._models):
            same_folder = reference.source == "folder" and model.path == reference.path
            wanted = reference.revision or "main"
            same_commit = model.repository == reference.repository and wanted in (*model.revisions, model.commit)
            if same_folder or (reference.source == "hub" and same_commit):
                return row
        return None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """All that were found."""
        return 0 if parent.isValid() else len(self._models)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Name, revision, size, last used, fit."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Column titles; the size has its at the right."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and COLUMNS[section] == "size":
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        titles = (tr("Model"), tr("Revision"), tr("Size"), tr("Last used"), tr("Fit on this machine"))
        return titles[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Texts, second lines and badges."""
        model = self.model_at(index.row())
        if model is None:
            return None
        column, mark = COLUMNS[index.column()], self._mark(model)
        if role == Qt.ItemDataRole.DisplayRole:
            return mark.text if column == "fit" else _text(model, column)
        if role == SECOND_LINE_ROLE and column == "model":
            return tr("Hub cache") if model.origin == "cache" else model.path
        if role == STATE_ROLE and column == "fit":
            return mark.state
        if role == Qt.ItemDataRole.ToolTipRole:
            return mark.why if column == "fit" else model.path
        if role == Qt.ItemDataRole.AccessibleTextRole and column == "model":
            return f"{model.label}, {mark.text}. {mark.why}"
        return None

    def _mark(self, model: LocalModel) -> Mark:
        if model.missing:
            why = tr("Missing: {files}. Download it again.", files=", ".join(model.missing))
            return Mark(tr("Not whole"), "bad", why)
        return model_mark(model.verdict, self._fits.get(model.path, ()))


def _text(model: LocalModel, column: str) -> str:
    if column == "model":
        return model.label
    if column == "revision":
        return ", ".join(model.revisions) or model.commit[:7] or DASH
    if column == "size":
        return disk(model.size_bytes)
    return date_time(model.last_used_utc) if model.last_used_utc else DASH
