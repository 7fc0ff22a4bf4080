"""The files and folders that a run learns from: picked, dropped, or taken from the newest runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFileDialog,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from studio.recipes import DatasetRef
from ui import theme as themes
from ui.bridge import Control
from ui.context import Context
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.tr import tr
from ui.viewmodels.recent_data import recent_datasets
from ui.widgets.button import Button, IconButton
from ui.widgets.card import Card
from ui.widgets.painting import rounded
from ui.widgets.text import Text

PATTERNS = "*.jsonl *.json *.csv *.tsv *.parquet *.txt *.md"


class SourceButton(QAbstractButton):
    """One dataset: icon, name, what is in it. The checked one is shown in the table."""

    def __init__(self, reference: DatasetRef, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path = Path(reference.path)
        self._about = str(self._path.parent)
        self.setText(self._path.name)
        self.setCheckable(True)
        self.setAccessibleName(self._path.name)
        self.setToolTip(str(self._path))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_about(self, about: str) -> None:
        """The second line: rows and size."""
        self._about = about
        self.setAccessibleDescription(about)
        self.update()

    def sizeHint(self) -> QSize:
        """46 px high."""
        return QSize(180, themes.current().px(46))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Soft fill and outline where it is the one that is shown."""
        theme = themes.current()
        painter = QPainter(self)
        on = self.isChecked()
        fill = theme.color("ac-soft") if on else theme.color("bg3") if self.underMouse() else None
        rounded(painter, QRectF(self.rect()), 6, fill, theme.color("ac" if on else "line"))
        side, left = theme.px(16), theme.px(36)
        icon = "folder" if self._path.is_dir() else "file"
        paint_icon(painter, QRectF(11, (self.height() - side) / 2, side, side), icon, "tx2")
        width, half = self.width() - left - 8, self.height() / 2
        lines = ((self.text(), text_font(theme.px(13), 500), "tx1", half - theme.px(18)),
                 (self._about, text_font(theme.px(12)), "tx2", half))  # fmt: skip
        for words, font, tone, top in lines:
            painter.setFont(font)
            painter.setPen(theme.color(tone))
            shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideMiddle, width)
            painter.drawText(QRectF(left, top, width, theme.px(18)), Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()


class SourceList(QWidget):
    """`added` carries paths, `removed` an index, `shown` the index of the dataset to look at."""

    added = Signal(object)
    removed = Signal(int)
    shown = Signal(int)

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self.shown)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(6)
        self.buttons: list[SourceButton] = []
        self.menu: QMenu | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self._recent = Button(tr("Recent"), kind="quiet", size="inline", trailing="chevron-down")
        self._recent.setAccessibleName(tr("Recent datasets"))
        self._recent.clicked.connect(self._look_for_recent)
        title = QHBoxLayout()
        title.addWidget(Text(tr("Files"), weight=600), 1)
        title.addWidget(self._recent)
        column.addLayout(title)
        column.addLayout(self._rows)
        column.addWidget(self._drop_zone())

    def show_sources(self, references: Sequence[DatasetRef], current: int) -> None:
        """One row a dataset; `current` is looked at."""
        while self._rows.count():
            item = self._rows.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for button in self.buttons:
            self._group.removeButton(button)
        self.buttons = []
        for index, reference in enumerate(references):
            button = SourceButton(reference)
            button.setChecked(index == current)
            remove = IconButton("cross", tr("Remove {name}", name=button.text()))
            remove.clicked.connect(lambda _checked=False, index=index: self.removed.emit(index))
            row = QHBoxLayout()
            holder = QWidget()
            holder.setLayout(row)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(4)
            row.addWidget(button, 1)
            row.addWidget(remove)
            self._rows.addWidget(holder)
            self._group.addButton(button, index)
            self.buttons.append(button)

    def pick_file(self) -> None:
        """Ask for files."""
        paths, _ = QFileDialog.getOpenFileNames(
            self, tr("Files with rows to learn from"), "", f"{tr('Data')} ({PATTERNS})"
        )
        if paths:
            self.added.emit(paths)

    def pick_folder(self) -> None:
        """Ask for a folder."""
        path = QFileDialog.getExistingDirectory(self, tr("A folder of data files"))
        if path:
            self.added.emit([path])

    def _drop_zone(self) -> Card:
        zone = Card(surface="dashed")
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addStretch(1)
        row.addWidget(Text(tr("Drop here, or add"), size=12, tone="tx2"))
        for label, name, pick in (
            (tr("a file"), tr("Add a file…"), self.pick_file), (tr("a folder"), tr("Add a folder…"), self.pick_folder),
        ):  # fmt: skip
            button = Button(label, kind="link", size="inline")
            button.setAccessibleName(name)
            button.clicked.connect(pick)
            row.addWidget(button)
        row.addStretch(1)
        zone.body.addLayout(row)
        zone.body.setContentsMargins(8, 6, 8, 6)
        return zone

    def _look_for_recent(self) -> None:
        services = self._context.services

        def work(control: Control) -> list[DatasetRef]:
            return recent_datasets(services.store)

        self._context.tasks.run(work, owner=self, on_result=self._show_recent)

    def _show_recent(self, found: list[DatasetRef]) -> None:
        if self.menu is not None:
            self.menu.deleteLater()
        self.menu = QMenu(self)
        self.menu.setAccessibleName(tr("Recent datasets"))
        for reference in found:
            action = self.menu.addAction(Path(reference.path).name)
            action.setToolTip(reference.path)
            action.triggered.connect(lambda _checked=False, path=reference.path: self.added.emit([path]))
        if not found:
            self.menu.addAction(tr("No run has used any yet")).setEnabled(False)
        self.menu.popup(self._recent.mapToGlobal(QPoint(0, self._recent.height() + 4)))
