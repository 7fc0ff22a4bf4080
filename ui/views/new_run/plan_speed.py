"""What a CPU means for the time, and how sure the figures are."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.context import Context
from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.text import IconLabel, Text
from ui.widgets.toast import Message
from ui.wording import words_for


class SpeedCard(Card):
    """ "Slow, and that is normal": and a button that measures this machine where its rates are only assumed."""

    def __init__(self, context: Context, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._context, self._session = context, session
        self.setAccessibleName(tr("Speed on this CPU"))
        self.basis = Text("", size=12, tone="tx3", wrap=True)
        self.measure = Button(tr("Measure this machine"), icon="pulse", note=tr("a few seconds"))
        self.measure.clicked.connect(self._measure)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Text(tr("Slow, and that is normal on a CPU"), weight=600))
        about = tr("Right for learning the app and for models under about 1 billion parameters.")
        words.addWidget(Text(about, size=12, tone="tx2", wrap=True))
        words.addWidget(self.basis)
        self._row = QHBoxLayout()
        self._row.setSpacing(12)
        self._row.addWidget(IconLabel("warning", "warn", 18), 0, Qt.AlignmentFlag.AlignTop)
        self._row.addLayout(words, 1)
        self._row.addWidget(self.measure, 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(self._row)

    def set_narrow(self, narrow: bool) -> None:
        """Where there is no room beside the words, the button stands below them."""
        layout = self.body if narrow else self._row
        layout.addWidget(self.measure, 0, Qt.AlignmentFlag.AlignLeft if narrow else Qt.AlignmentFlag.AlignVCenter)

    def refresh(self) -> None:
        """Say on what the figures rest."""
        plan = self._session.planned.plan if self._session.planned else None
        self.setVisible(plan is not None and plan.placement.device == "cpu")
        measured = plan is not None and plan.timeline.measured
        self.measure.setVisible(not measured)
        self.basis.setText(
            tr("Predicted from the rates that were measured on this machine.")
            if measured
            else tr("Predicted from assumed rates a core: measuring makes the times true for this machine.")
        )

    def _measure(self) -> None:
        services = self._context.services
        self.measure.setEnabled(False)
        self._context.tasks.run(
            lambda control: services.studio.rates.measure(services.machine()),
            owner=self, on_result=lambda machine: self._measured(), on_error=self._failed, touches=("machine",),
        )  # fmt: skip

    def _measured(self) -> None:
        self.measure.setEnabled(True)
        self._session.refresh()

    def _failed(self, error: Exception) -> None:
        self.measure.setEnabled(True)
        words = words_for(error)
        self._context.toast(Message("bad", words.what, words.remedy))
