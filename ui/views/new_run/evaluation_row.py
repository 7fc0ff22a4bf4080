"""Rows of their own for evaluation, in place of a share held out of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from studio.recipes import DatasetRef
from ui.tr import tr
from ui.views.new_run.source_list import PATTERNS
from ui.widgets.button import Button, IconButton
from ui.widgets.text import Text


class EvaluationRow(QWidget):
    """`picked` carries paths, `removed` comes when the share is wanted again."""

    picked = Signal(object)
    removed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(Text(tr("Evaluation dataset"), size=12, tone="tx2"))
        self._name = Text("", elide=True)
        self._choose = Button(tr("Choose…"))
        self._choose.setAccessibleName(tr("Choose an evaluation dataset…"))
        self._choose.clicked.connect(self._pick)
        self._remove = IconButton("cross", tr("Hold out a share instead"))
        self._remove.clicked.connect(self.removed)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self._name, 1)
        row.addWidget(self._choose)
        row.addWidget(self._remove)
        column.addLayout(row)

    def show_references(self, references: Sequence[DatasetRef]) -> None:
        """Their names, or that a share is held out."""
        names = ", ".join(Path(reference.path).name for reference in references)
        self._name.setText(names or tr("None: a share is held out"))
        self._name.set_tone("tx1" if names else "tx3")
        self._remove.setVisible(bool(references))

    def _pick(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self, tr("Rows to evaluate on"), "", f"{tr('Data')} ({PATTERNS})")
        if paths:
            self.picked.emit(paths)
