"""The verdict in the footer of the pages before the plan: what is chosen so far, and whether it would fit."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import so_far
from ui.widgets.badge import BadgeLabel
from ui.widgets.text import Text


class PlanSoFar(QWidget):
    """ "Plan so far", a badge, the facts. Follows the session by itself."""

    def __init__(self, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.badge = BadgeLabel("", "neutral")
        self.facts = Text("", size=12, tone="tx2", elide=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(Text(tr("Plan so far"), size=12, tone="tx3"))
        row.addWidget(self.badge)
        row.addWidget(self.facts, 1)
        session.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Say what the session knows."""
        words, state, facts = so_far(self._session)
        self.badge.set_badge(words, state)
        self.facts.setText(facts)
        self.setAccessibleName(tr("Plan so far: {verdict}. {facts}", verdict=words, facts=facts))
