"""A chart's points as a table, for those who read numbers rather than lines."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from ui.tr import tr
from ui.widgets.cells import TextDelegate
from ui.widgets.table import DataTable

Index = QModelIndex | QPersistentModelIndex


class RowsModel(QAbstractTableModel):
    """Worded rows under headers."""

    def __init__(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        super().__init__()
        self._headers, self._rows = headers, rows

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default argument
        """How many rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default argument
        """How many columns."""
        return 0 if parent.isValid() else len(self._headers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text of one cell."""
        return self._rows[index.row()][index.column()] if role == Qt.ItemDataRole.DisplayRole else None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The headers of the columns."""
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self._headers[section]
        return None


class ChartTable(QDialog):
    """The table in a window of its own; Esc closes it."""

    def __init__(
        self, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], parent: QWidget | None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("{title} as a table", title=title))
        self.resize(520, 480)
        self._model = RowsModel(headers, rows)
        view = DataTable(self.windowTitle(), density="dense")
        view.setItemDelegate(TextDelegate(view, number=True))
        view.setModel(self._model)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.addWidget(view)
