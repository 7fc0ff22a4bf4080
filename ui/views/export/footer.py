"""The bar at the bottom: what will be exported, whether there is room for it, and the button."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui import theme as themes
from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.text import Rule, Text


class ExportFooter(QWidget):
    """`export_wanted`, `folder_wanted`."""

    export_wanted = Signal()
    folder_wanted = Signal()

    def __init__(self, keys: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "bg0")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(themes.current().px(56))
        self.what = Text("", weight=600)
        self.note = Text("", size=12, tone="tx3", elide=True)
        self.open = Button(tr("Open exports folder"), icon="folder", size="medium")
        self.export = Button(tr("Export"), icon="export", kind="primary", size="medium", keys=keys)
        self.open.clicked.connect(self.folder_wanted)
        self.export.clicked.connect(self.export_wanted)
        row = QHBoxLayout()
        row.setContentsMargins(20, 0, 20, 0)
        row.setSpacing(12)
        middle = Qt.AlignmentFlag.AlignVCenter  # or the buttons' height would be all that the row may have
        row.addWidget(self.what, 0, middle)
        row.addWidget(self.note, 1)
        row.addWidget(self.open, 0, middle)
        row.addWidget(self.export, 0, middle)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(Rule())
        column.addLayout(row, 1)

    def say(self, what: str, refused: str, *, warns: bool = False) -> None:
        """`refused` says why Export cannot be pressed, "" where it can; `warns` where something is in the way."""
        self.what.setText(what)
        usual = tr("Every export is reloaded and compared before it counts as done.")
        self.note.setText(refused or usual)
        self.note.set_tone("warn" if warns else "tx2" if refused else "tx3")
        self.export.setEnabled(not refused)
        self.export.setToolTip(refused)
        self.export.setAccessibleDescription(refused or what)
