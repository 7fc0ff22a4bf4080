"""The memory at the peak of a step: one bar a memory on the scale of its capacity, and every value in words."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.planning import Budget, Plan
from ui.format import memory, memory_of
from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import segments, shown_sizes
from ui.widgets.card import Card
from ui.widgets.chip import FlowLayout
from ui.widgets.hatches import category_label
from ui.widgets.memory_bar import MemoryBar, MemoryLegend
from ui.widgets.text import Text


class MemoryView(QWidget):
    """Title, "x of y", bar and legend of the host's memory."""

    def __init__(self, session: PlanSession, *, legend: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shown: Plan | None = None
        self.of = Text("", size=12, weight=600)
        self.bar = MemoryBar(tr("System memory (RAM)"), height=28 if legend else 24, place_name=tr("RAM"))
        self._legend = QWidget()
        self._flow = FlowLayout(self._legend, gap=10)
        head = QHBoxLayout()
        head.addWidget(Text(tr("System memory (RAM)"), size=12, weight=500))
        head.addStretch(1)
        head.addWidget(self.of)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(head)
        column.addWidget(self.bar)
        column.addWidget(self._legend)
        self._legend.setVisible(legend)

    def refresh(self) -> None:
        """Show the session's plan; nothing is drawn anew while it is the same."""
        plan = self._session.planned.plan if self._session.planned else None
        self.setVisible(plan is not None)
        if plan is None or plan is self._shown:
            return
        self._shown = plan
        budget = plan.budgets[0]
        self.bar.set_memory(segments(plan, budget), budget.capacity_bytes, budget.usable_bytes)
        self.of.setText(memory_of(budget.planned_bytes + budget.other_bytes, budget.capacity_bytes))
        self._show_legend(plan, budget)

    def _show_legend(self, plan: Plan, budget: Budget) -> None:
        while (item := self._flow.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        for category, size in shown_sizes(plan, budget):
            words = f"{category_label(category).capitalize()} {size}"
            swatch = MemoryLegend(category, words)
            swatch.setAccessibleName(words)
            self._flow.addWidget(swatch)
        self._legend.updateGeometry()


class MemoryCard(Card):
    """The bar in a card, with what the checkpoints add on disk."""

    def __init__(self, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(tr("Memory at the peak of a step"), tr("what the engine will allocate"), parent=parent)
        self.add_to_header(Text(tr("▾ “tight” starts here, 10 % free"), size=12, tone="tx3"))
        self.view = MemoryView(session)
        self.waiting = Text(tr("Shown as soon as there is a plan."), size=12, tone="tx3")
        self._session = session
        self.body.addWidget(self.view)
        self.body.addWidget(self.waiting)

    def refresh(self) -> None:
        """Show the session's plan."""
        self.view.refresh()
        plan = self._session.planned.plan if self._session.planned else None
        self.waiting.setVisible(plan is None)
        if plan is not None:
            self.setAccessibleDescription(tr("{size} planned", size=memory(plan.budgets[0].planned_bytes)))
