"""The left column of the Data step: sources, format, split and loss, and what to know before training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.recipes import DatasetRef, Recipe
from ui import theme as themes
from ui.context import Context
from ui.format import disk, number
from ui.forms.form import SettingForm
from ui.tr import tr
from ui.views.new_run.evaluation_row import EvaluationRow
from ui.views.new_run.format_panel import FormatPanel
from ui.views.new_run.issue_list import IssueList
from ui.views.new_run.notice_card import NoticeCard
from ui.views.new_run.source_list import SourceList
from ui.widgets.text import Rule, Text
from ui.wording import Words

if TYPE_CHECKING:
    from studio.datasets import DatasetPreviewed, Issue

WIDTH = 288


class DataSettings(QWidget):
    """Shows what the page tells it; its parts emit what a person does."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("pane", "settings")
        self.sources, self.format = SourceList(context), FormatPanel()
        self.notice, self.issues = NoticeCard(), IssueList()
        self._failure = NoticeCard()
        self.form = SettingForm(context.services.document, ["evaluation_fraction", "loss_on", "chat_template"])
        self.evaluation = EvaluationRow()
        self._files: tuple[tuple[DatasetRef, ...], int] | None = None
        self._size = ""
        inner = QWidget()
        inner.setProperty("scrolled", "true")
        column = QVBoxLayout(inner)
        column.setContentsMargins(20, 12, 12, 12)
        column.setSpacing(10)
        for widget in (self.sources, self._failure, self.notice, self.format):
            column.addWidget(widget)
        self.format.hide()
        column.addWidget(Rule())
        column.addWidget(Text(tr("Split and loss"), size=12, weight=600, tone="tx2"))
        column.addWidget(self.form)
        column.addWidget(self.evaluation)
        column.addWidget(self.issues)
        column.addStretch(1)
        self._inner = inner
        area = QScrollArea()
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(area, 1)
        row.addWidget(Rule(vertical=True))

    def event(self, event: QEvent) -> bool:
        """288 px, or what a longer language and larger text need: nothing is cut at the right edge."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Show, QEvent.Type.StyleChange):
            theme = themes.current()
            needed = self._inner.minimumSizeHint().width() + theme.px(4)
            self.setFixedWidth(max(theme.px(WIDTH), min(needed, theme.px(WIDTH + 72))))
        return super().event(event)

    def show_recipe(self, recipe: Recipe, current: int) -> None:
        """Sources and evaluation rows."""
        files = (recipe.datasets, current)
        if files != self._files:
            self._files = files
            self.sources.show_sources(recipe.datasets, current)
        self.evaluation.show_references(recipe.evaluation_datasets)

    def show_no_preview(self, *, loading: bool) -> None:
        """Nothing is known of the rows, or not yet."""
        self._failure.hide()
        self._size = ""
        self.format.setVisible(loading)
        self.format.show_loading()

    def show_preview(self, reference: DatasetRef, preview: DatasetPreviewed) -> None:
        """What the first rows tell."""
        self._failure.hide()
        self.format.show_preview(reference, preview)
        self.format.show()
        size = disk(preview.size_bytes)
        about = tr("{count} rows · {size}", count=number(len(preview.rows)), size=size) if preview.complete else size
        if len(preview.files) > 1:
            about = tr("{count} files · {about}", count=number(len(preview.files)), about=about)
        self._about(about)
        self._size = size
        if preview.skipped_files:
            names = ", ".join(preview.skipped_files[:5])
            self._failure.show_notice(tr("Some files are not read"), tr("Not a kind of data: {names}", names=names))

    def show_row_count(self, rows: int) -> None:
        """All rows are counted: say how many beside the only dataset."""
        if self._size:
            self._about(tr("{count} rows · {size}", count=number(rows), size=self._size))

    def show_failure(self, words: Words) -> None:
        """The dataset could not be read at all."""
        self.format.hide()
        self._failure.show_notice(words.what, words.remedy)

    def show_problem(self, words: Words | None) -> None:
        """What stands against training on these rows."""
        if words is None:
            self.notice.hide()
        else:
            self.notice.show_notice(words.what, words.remedy)

    def show_issues(self, issues: Sequence[Issue], showing: str) -> None:
        """What to know, with counts."""
        self.issues.show_issues(issues, showing)

    def _about(self, about: str) -> None:
        button = next((one for one in self.sources.buttons if one.isChecked()), None)
        if button is not None:
            button.set_about(about)
