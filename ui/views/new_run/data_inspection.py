"""The right side of the Data step: rows and their tokens above, lengths and the epoch below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from ui import theme as themes
from ui.context import Context
from ui.tr import tr
from ui.views.new_run.count_bar import CountBar
from ui.views.new_run.epoch_card import EpochCard
from ui.views.new_run.lengths_card import LengthsCard
from ui.views.new_run.microscope_card import MicroscopeCard
from ui.views.new_run.rows_card import RowsCard
from ui.widgets.button import Button
from ui.widgets.empty_state import EmptyState

if TYPE_CHECKING:
    from studio.datasets import RowSummary


LEAST_HEIGHT = 600  # below that, the cards scroll instead of being squeezed
STACKED_BELOW, STACKED_HEIGHT = 860, 1180  # where two cards side by side would be too narrow to read


class DataInspection(QStackedWidget):
    """`file_wanted` and `folder_wanted` come from the empty state."""

    file_wanted = Signal()
    folder_wanted = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        document = context.services.document
        self.rows_card, self.microscope = RowsCard(context), MicroscopeCard(context)
        self.lengths, self.epoch, self.count_bar = LengthsCard(document), EpochCard(document), CountBar()
        self.rows_card.row_selected.connect(self._row_selected)
        file = Button(tr("Add a file…"), icon="file", kind="primary")
        folder = Button(tr("Add a folder…"), icon="folder")
        file.clicked.connect(self.file_wanted)
        folder.clicked.connect(self.folder_wanted)
        text = tr("Rows, their tokens and their lengths show here. Text, JSON, JSON lines, CSV and Parquet are read.")
        self._empty = EmptyState(tr("No data yet"), text, icon="file", actions=[file, folder])
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(12)
        self._pairs: list[QHBoxLayout] = []
        for left, right, wide in ((self.rows_card, self.microscope, (1, 1)), (self.lengths, self.epoch, (17, 10))):
            row = QHBoxLayout()
            row.setSpacing(12)
            row.addWidget(left, wide[0])
            row.addWidget(right, wide[1])
            self._pairs.append(row)
            column.addLayout(row, 9 if left is self.rows_card else 5)
            if left is self.rows_card:
                column.addWidget(self.count_bar)
        self._content = content
        content.setMinimumHeight(themes.current().px(LEAST_HEIGHT))
        content.setProperty("scrolled", "true")
        area = QScrollArea()
        area.setWidget(content)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.addWidget(area)
        self.addWidget(self._empty)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """One card below the other in a narrow window."""
        super().resizeEvent(event)
        theme = themes.current()
        stacked = self.width() < theme.px(STACKED_BELOW)
        way = QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight
        for row in self._pairs:
            row.setDirection(way)
        self._content.setMinimumHeight(theme.px(STACKED_HEIGHT if stacked else LEAST_HEIGHT))

    def show_empty(self, empty: bool) -> None:
        """Whether there is no dataset at all."""
        self.setCurrentIndex(1 if empty else 0)

    def _row_selected(self, row: RowSummary | None) -> None:
        question = self.rows_card.rows.question
        if row is None or question is None:
            self.microscope.show_nothing()
        else:
            self.microscope.show_row(question, row)
