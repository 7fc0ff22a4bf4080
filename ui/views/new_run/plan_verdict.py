"""The verdict and the key figures of the plan: wide above the plan, narrow at the side of Advanced."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from ui.format import number, percent
from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import STATES, budget_words, explain_figures, figures, verdict_words
from ui.widgets.badge import State, shape_of
from ui.widgets.card import Card, KeyFigure
from ui.widgets.edge_strip import EdgeStrip
from ui.widgets.text import IconLabel, Rule, Text, Tone

_TONES: dict[State, Tone] = {"good": "good", "warn": "warn", "bad": "bad", "accent": "tx1", "neutral": "tx1"}


class Verdict(QWidget):
    """Shape, word and by how much."""

    def __init__(self, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.icon = IconLabel("clock", "tx3", 24)
        self.title = Text("", size=15, weight=600)
        self.line = Text("", size=12, tone="tx2", wrap=True)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addStretch(1)
        words.addWidget(self.title)
        words.addWidget(self.line)
        words.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(self.icon)
        row.addLayout(words, 1)

    def refresh(self) -> State:
        """Say what the session knows. Returns the state that is shown."""
        session = self._session
        plan = session.planned.plan if session.planned else None
        if plan is None:
            state: State = "neutral"
            waiting = session.pending
            self.title.setText(tr("Planning") if waiting else tr("No plan yet"))
            self.line.setText(counting_words(session) if waiting else session.nearest_fix())
            self.icon.set_icon("clock" if waiting else "info", "tx3")
        else:
            state = STATES[plan.verdict]
            self.title.setText(verdict_words(plan.verdict))
            self.line.setText(counting_words(session) or " · ".join(budget_words(b) for b in plan.budgets))
            self.icon.set_icon(shape_of(state), state)
        self.title.set_tone(_TONES[state])
        self.setAccessibleName(f"{self.title.text()}. {self.line.text()}")
        return state


class VerdictCard(Card):
    """The wide card: verdict at the left, figures at the right, state as a strip."""

    def __init__(self, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setAccessibleName(tr("Verdict"))
        self._session = session
        self._strip = EdgeStrip("neutral", parent=self)
        self.verdict = Verdict(session)
        self.figures = [KeyFigure(label) for label, _, _ in figures(session)]
        explain_figures(self.figures)
        self._rules = [Rule(vertical=True) for _ in self.figures]
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(0, 1)
        self.body.setContentsMargins(18, 6, 16, 6)
        self.body.addLayout(self._grid)
        self.set_narrow(False)

    def set_narrow(self, narrow: bool) -> None:
        """One line, or where there is no room for it, the verdict above and the figures two by two."""
        self._grid.addWidget(self.verdict, 0, 0, 1, 3 if narrow else 1)
        for index, (rule, figure) in enumerate(zip(self._rules, self.figures, strict=True)):
            row, column = (1 + index // 2, 2 * (index % 2)) if narrow else (0, 2 + 2 * index)
            self._grid.addWidget(rule, 0, 1 + 2 * index)
            self._grid.addWidget(figure, row, column)
            rule.setVisible(not narrow)

    def refresh(self) -> None:
        """Show the session's plan."""
        self._strip.set_state(self.verdict.refresh())
        for figure, (_, value, note) in zip(self.figures, figures(self._session), strict=True):
            figure.set_value(value, note)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The strip keeps the height of the card."""
        super().resizeEvent(event)
        self._strip.setGeometry(0, 0, 4, self.height())


class VerdictColumn(QWidget):
    """The narrow form: verdict above, figures two by two."""

    def __init__(self, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.verdict = Verdict(session)
        self.figures = [KeyFigure(label, small=True) for label, _, _ in figures(session)]
        explain_figures(self.figures)
        self.note = Text(tr("“≈” while a newer plan is made"), size=12, tone="tx3")
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(10)
        for index, figure in enumerate(self.figures):
            grid.addWidget(figure, index // 2, index % 2, Qt.AlignmentFlag.AlignTop)
        for side in (0, 1):
            grid.setColumnStretch(side, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(self.verdict)
        column.addLayout(grid)
        column.addWidget(self.note)

    def refresh(self) -> None:
        """Show the session's plan."""
        self.verdict.refresh()
        for figure, (_, value, note) in zip(self.figures, figures(self._session), strict=True):
            figure.set_value(value, note)
        self.note.setVisible(self._session.approximate)


def counting_words(session: PlanSession) -> str:
    """How far the counting of the data is, "" while nothing is counted."""
    progress = session.progress
    if progress is None:
        return ""
    if not progress.total:
        return tr("Counting the data: {done}", done=number(progress.done))
    return tr("Counting the data: {share}", share=percent(progress.done / progress.total))
