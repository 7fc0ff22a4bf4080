"""A table as the design has it: no grid, whole rows, keyboard by row, headers that sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QAbstractItemModel, QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemDelegate, QAbstractItemView, QHeaderView, QTableView, QWidget

from ui import theme as themes
from ui.widgets.cells import TextDelegate

Density = Literal["dense", "normal", "two-line"]
_ROW = {"dense": 30, "normal": 32, "two-line": 46}


class DataTable(QTableView):
    """A QTableView with the design's rows. Give each column a delegate with `set_column`."""

    def __init__(self, name: str, *, density: Density = "normal", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._density: Density = density
        self._widths: dict[int, int] = {}
        self._kept: tuple[int, int, tuple[int, ...]] | None = None
        self._scale = themes.current().scale
        self.setAccessibleName(name)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(TextDelegate(self))
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setMinimumSectionSize(32)
        self._set_row_height()

    def setModel(self, model: QAbstractItemModel | None) -> None:
        """Show `model`; the row height stays the design's."""
        super().setModel(model)
        self._set_row_height()

    def set_column(self, column: int, width: int | None, delegate: QAbstractItemDelegate | None = None) -> None:
        """A fixed width in px (None: takes what is left) and how the cells are drawn."""
        header = self.horizontalHeader()
        if width is None:
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        else:
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(column, themes.current().px(width))
            self._widths[column] = width
        if delegate is not None:
            self.setItemDelegateForColumn(column, delegate)

    def keep_width(self, column: int, least: int, give_way: Sequence[int]) -> None:
        """Columns of `give_way` are hidden, the first first, while `column` would get less than `least` px."""
        self._kept = (column, least, tuple(give_way))
        self._make_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow table shows fewer columns rather than names that nobody can read."""
        super().resizeEvent(event)
        self._make_room()

    def changeEvent(self, event: QEvent) -> None:
        """Row heights and columns grow with the text size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._set_row_height()
            if self._scale != themes.current().scale:
                self._scale = themes.current().scale
                for column, width in self._widths.items():
                    self.horizontalHeader().resizeSection(column, themes.current().px(width))
                self._make_room()

    def _make_room(self) -> None:
        if self._kept is None or self.model() is None:
            return
        column, least, give_way = self._kept
        theme = themes.current()
        room = self.viewport().width() - sum(theme.px(width) for at, width in self._widths.items() if at != column)
        hidden: set[int] = set()
        for one in give_way:
            if room >= theme.px(least):
                break
            hidden.add(one)
            room += theme.px(self._widths[one])
        for one in give_way:
            if self.isColumnHidden(one) != (one in hidden):
                self.setColumnHidden(one, one in hidden)

    def _set_row_height(self) -> None:
        vertical = self.verticalHeader()
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        vertical.setMinimumSectionSize(20)
        vertical.setDefaultSectionSize(themes.current().px(_ROW[self._density]))
