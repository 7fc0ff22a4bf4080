"""Advanced: every setting of the schema in folds, two columns of them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QWidget

from studio.errors import Problem
from studio.recipes.document import RecipeDocument
from ui.forms.folds import FoldedForm
from ui.tr import tr

LEFT = ("method", "batch", "schedule", "run")
RIGHT = ("optimizer", "data", "evaluation", "checkpoints", "engine")


class AdvancedForm(QScrollArea):
    """The folds of all groups. Model and datasets have pages of their own."""

    def __init__(self, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(tr("Settings"))
        inside = QWidget()
        inside.setProperty("scrolled", True)
        row = QHBoxLayout(inside)
        row.setContentsMargins(20, 0, 12, 12)
        row.setSpacing(12)
        self.columns = [FoldedForm(document, groups) for groups in (LEFT, RIGHT)]
        for column in self.columns:
            row.addWidget(column, 1, Qt.AlignmentFlag.AlignTop)
        self.setWidget(inside)

    def keys(self) -> list[str]:
        """Every setting that has a row."""
        return [key for column in self.columns for fold in column.folds.values() for key in fold.form.keys]

    def shown_keys(self) -> list[str]:
        """Every setting whose row can be seen."""
        return [key for column in self.columns for fold in column.folds.values() for key in fold.form.shown_keys()]

    def search(self, typed: str) -> None:
        """Only rows whose label, help or key holds `typed`."""
        for column in self.columns:
            column.search(typed)

    def show_changed_only(self, changed_only: bool) -> None:
        """Only rows that differ from their default."""
        for column in self.columns:
            column.show_changed_only(changed_only)

    def show_problems(self, problems: list[Problem]) -> None:
        """What the plan found, beside its fields."""
        for column in self.columns:
            for fold in column.folds.values():
                fold.form.show_problems(problems)
