"""The plan beside the form: wide for Basic, a narrow column for Advanced."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.recipes.document import RecipeDocument
from ui import theme as themes
from ui.context import Context
from ui.tr import tr
from ui.views.new_run.changes_list import ChangesList
from ui.views.new_run.plan_advice import AdviceCard, ProblemsCard, ReasonsCard
from ui.views.new_run.plan_command import CommandCard
from ui.views.new_run.plan_memory import MemoryCard, MemoryView
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_speed import SpeedCard
from ui.views.new_run.plan_verdict import VerdictCard, VerdictColumn
from ui.widgets.text import Rule, Text


class Scrolled(QScrollArea):
    """A column that scrolls; `column` is its layout."""

    def __init__(self, margins: tuple[int, int, int, int], spacing: int = 12, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(tr("Plan"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inside = QWidget()
        inside.setProperty("scrolled", True)
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(*margins)
        self.column.setSpacing(spacing)
        self.setWidget(inside)


class PlanPanel(Scrolled):
    """Verdict, speed, memory, advice and reasons, problems, the command."""

    def __init__(
        self, context: Context, session: PlanSession, go: Callable[[str], None], parent: QWidget | None = None
    ) -> None:
        super().__init__((16, 12, 20, 12), parent=parent)
        self._document = context.services.document
        self.verdict = VerdictCard(session)
        self.problems = ProblemsCard(session, self._document, go)
        self.speed = SpeedCard(context, session)
        self.memory = MemoryCard(session)
        self.advice = AdviceCard(session, self._document)
        self.reasons = ReasonsCard(session)
        self.command = CommandCard(context.services.home)
        for card in (self.verdict, self.problems, self.speed, self.memory):
            self.column.addWidget(card)
        self._pair = QHBoxLayout()
        self._pair.setSpacing(12)
        self._pair.addWidget(self.advice, 3)
        self._pair.addWidget(self.reasons, 2)
        self.column.addLayout(self._pair)
        self.column.addWidget(self.command)
        self.column.addStretch(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Without room for two columns, one below the other."""
        super().resizeEvent(event)
        narrow = event.size().width() < themes.current().px(720)
        self.verdict.set_narrow(narrow)
        self.speed.set_narrow(narrow)
        direction = QBoxLayout.Direction
        self._pair.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)

    def refresh(self) -> None:
        """Show the session and the document."""
        for card in (self.verdict, self.problems, self.speed, self.memory, self.advice, self.reasons):
            card.refresh()
        self.command.show_recipe(self._document.recipe)


class PlanColumn(Scrolled):
    """The narrow plan at the side of Advanced, with the list of changes."""

    def __init__(
        self, session: PlanSession, document: RecipeDocument, go: Callable[[str], None], parent: QWidget | None = None
    ) -> None:
        super().__init__((16, 14, 16, 12), 14, parent)
        self.verdict = VerdictColumn(session)
        self.memory = MemoryView(session, legend=False)
        self.problems = ProblemsCard(session, document, go)
        self.changes = ChangesList(document)
        for widget in (self.verdict, self.memory, self.problems, Rule()):
            self.column.addWidget(widget)
        self.column.addWidget(Text(tr("Changed from the defaults"), weight=600))
        self.column.addWidget(self.changes)
        self.column.addStretch(1)

    def refresh(self) -> None:
        """Show the session and the document."""
        self.verdict.refresh()
        self.memory.refresh()
        self.problems.refresh()
        self.changes.refresh()
