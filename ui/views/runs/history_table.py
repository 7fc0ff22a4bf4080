"""The table of runs: ticks, line samples, editing in place, and keys."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.tr import tr
from ui.viewmodels import run_table as columns
from ui.viewmodels.run_table import Index, RunTable
from ui.widgets.badge import BadgeDelegate
from ui.widgets.cells import TextDelegate, paint_cell_background
from ui.widgets.chart_pens import paint_series_sample
from ui.widgets.painting import rounded
from ui.widgets.sparkline import SLOT_ROLE
from ui.widgets.table import DataTable


class TickDelegate(QStyledItemDelegate):
    """A check box, painted as everywhere else."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Box and tick."""
        paint_cell_background(painter, option, index)
        theme = themes.current()
        side = theme.px(15)
        centre = QRectF(option.rect).center()
        box = QRectF(centre.x() - side / 2, centre.y() - side / 2, side, side)
        on = index.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
        rounded(painter, box, 3, theme.color("ac" if on else "bg1"), theme.color("ac" if on else "ctl"))
        if on:
            paint_icon(painter, box.adjusted(2, 2, -2, -2), "check", "on-ac")


class LineDelegate(QStyledItemDelegate):
    """The line of a ticked run: colour, dash, marker and letter."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The sample and the letter."""
        paint_cell_background(painter, option, index)
        slot = index.data(SLOT_ROLE)
        if not isinstance(slot, int):
            return
        theme = themes.current()
        rect = QRectF(option.rect)
        paint_series_sample(painter, QRectF(rect.x() + 6, rect.y(), 26, rect.height()), theme, slot)
        painter.setFont(text_font(theme.px(12), 600))
        painter.setPen(theme.color("tx1"))
        painter.drawText(rect.adjusted(38, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, columns.letter(slot))


class EditDelegate(TextDelegate):
    """A text that is edited in place."""

    def __init__(self, parent: DataTable, name: str, *, strong: bool = False) -> None:
        super().__init__(parent, strong=strong)
        self._name = name

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """A line edit with a name, so that a screen reader says what is being changed."""
        editor = super().createEditor(parent, option, index)
        editor.setAccessibleName(self._name)
        return editor


class HistoryTable(DataTable):
    """Enter or a double click opens, Space ticks, F2 renames, Delete deletes, the menu key and a right click ask for
    the menu."""

    opened = Signal(str)
    delete_wanted = Signal()
    menu_wanted = Signal(QPoint)
    tick_refused = Signal()
    edited = Signal()

    def __init__(self, model: RunTable) -> None:
        super().__init__(tr("Runs"))
        self.runs = model
        self.setModel(model)
        state = BadgeDelegate(self)
        widths: dict[int, tuple[int | None, QStyledItemDelegate | None]] = {
            columns.TICK: (36, TickDelegate(self)),
            columns.LINE: (54, LineDelegate(self)),
            columns.NAME: (None, EditDelegate(self, tr("Name of the run"), strong=True)),
            columns.STATE: (168, state),
            columns.MODEL: (146, None),
            columns.DATASET: (112, None),
            columns.METHOD: (74, None),
            columns.EVALUATION: (116, TextDelegate(self, number=True)),
            columns.STEP: (58, TextDelegate(self, number=True)),
            columns.DURATION: (98, TextDelegate(self, number=True)),
            columns.STARTED: (146, None),
            columns.TAGS: (124, EditDelegate(self, tr("Tags, separated by commas"))),
        }
        for column, (width, delegate) in widths.items():
            self.set_column(column, width, delegate)
        self.keep_width(columns.NAME, 170, (columns.TAGS, columns.STARTED, columns.DATASET, columns.STEP))
        header = self.horizontalHeader()
        header.setSortIndicatorShown(True)
        header.setSectionsClickable(True)
        header.setSortIndicator(columns.STARTED, Qt.SortOrder.DescendingOrder)

    def current_run(self) -> str | None:
        """The run of the current row."""
        run = self.runs.run_at(self.currentIndex().row()) if self.currentIndex().isValid() else None
        return run.id if run else None

    @property
    def is_editing(self) -> bool:
        """Whether a cell is being edited: what is read meanwhile would overwrite the text."""
        return self.state() == QAbstractItemView.State.EditingState

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        """`edited` when a cell is done, whether it was changed or not."""
        super().closeEditor(editor, hint)
        self.edited.emit()

    def tick(self, row: int) -> None:
        """Tick or untick a row."""
        run = self.runs.run_at(row)
        if run is not None and not self.runs.toggle(run.id):
            self.tick_refused.emit()

    def edit_column(self, column: int) -> None:
        """Edit name or tags of the current row."""
        index = self.runs.index(self.currentIndex().row(), column)
        self.setCurrentIndex(index)
        self.edit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The table's own keys."""
        row = self.currentIndex().row()
        key = event.key()
        if self.is_editing:  # the Enter that ends an edit comes here too
            return
        if key == Qt.Key.Key_Space and row >= 0:
            self.tick(row)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
            self._open(row)
        elif key == Qt.Key.Key_F2 and row >= 0:
            self.edit_column(columns.NAME)
        elif key == Qt.Key.Key_Delete and row >= 0:
            self.delete_wanted.emit()
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click on the box ticks."""
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index.isValid() and index.column() == columns.TICK:
            self.tick(index.row())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click opens the run, except on the box."""
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and index.column() != columns.TICK:
            self._open(index.row())

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The menu at the pointer, or below the current row when a key asked for it."""
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            at = event.globalPos()
        else:
            at = self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).bottomLeft())
        if self.current_run() is not None:
            self.menu_wanted.emit(at)

    def _open(self, row: int) -> None:
        run = self.runs.run_at(row)
        if run is not None:
            self.opened.emit(run.id)
