"""What stands between Back and Next on the first two steps: the plan so far, and a note at the right."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import so_far
from ui.widgets.badge import BadgeLabel
from ui.widgets.text import Text


class StepFooter(QWidget):
    """Follows a PlanSession by itself."""

    def __init__(self, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._label = Text(tr("Plan so far"), size=12, tone="tx3")
        self._badge = BadgeLabel("")
        self._detail = Text("", size=12, tone="tx2", elide=True)
        self._note = Text("", size=12, tone="tx3")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(self._label)
        row.addWidget(self._badge)
        row.addWidget(self._detail, 1)
        row.addWidget(self._note)
        session.changed.connect(self._show)
        self._show()

    def set_note(self, note: str) -> None:
        """What the launch still waits for."""
        self._note.setText(note)

    def _show(self) -> None:
        verdict, state, detail = so_far(self._session)
        self._badge.set_badge(verdict, state, explanation=detail)
        self._badge.setVisible(bool(verdict))
        self._detail.setText(detail)
