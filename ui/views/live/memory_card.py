"""Plan and measured: memory as two bars on one scale, then speed, step time and CPU beside what was planned."""

from __future__ import annotations

from typing import cast

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from studio.planning import CATEGORIES, Budget, Plan
from ui.format import duration, memory, number, percent, tokens_per_second
from ui.tr import tr
from ui.viewmodels.live_run import Snapshot
from ui.widgets.badge import BadgeLabel, State
from ui.widgets.card import Card
from ui.widgets.chart_series import Points
from ui.widgets.chip import FlowLayout
from ui.widgets.hatches import Category
from ui.widgets.memory_bar import MemoryBar, MemoryLegend, Segment
from ui.widgets.sparkline import Sparkline
from ui.widgets.text import Rule, Text

GAP_THAT_MATTERS = 0.10


class MemoryCard(Card):
    """The host's memory (this release has no GPU engine). Nothing is drawn before it is measured."""

    def __init__(self) -> None:
        super().__init__(tr("Plan and measured"), tr("at the peak of a step"))
        self.gap = BadgeLabel("")
        self.gap.setVisible(False)
        self.add_to_header(self.gap)
        self.of = Text("", size=12, tone="tx3")
        self.bars = {
            "plan": MemoryBar(tr("Planned memory"), height=12, labels=False),
            "measured": MemoryBar(tr("Measured memory"), height=12, labels=False),
        }
        self.sums = {key: Text("", size=12, weight=600) for key in self.bars}
        self.figures = {
            "tokens_per_second": Text("", size=12),
            "step_seconds": Text("", size=12),
            "cpu_percent": Text("", size=12),
        }
        self.cpu = Sparkline(tr("CPU of the engine"), 1)
        self._legend = QWidget()
        self._flow = FlowLayout(self._legend, gap=8)
        self._categories: tuple[str, ...] = ()
        self.waiting = Text(tr("Measured with the first step."), size=12, tone="tx3")
        self._lay_out()

    def show_run(self, shot: Snapshot) -> None:
        """The newest measurement beside the plan."""
        plan = shot.plan
        budget = plan.budgets[0] if plan and plan.budgets else None
        measured = dict(shot.memory)
        self.waiting.setVisible(not measured)
        if plan is not None and budget is not None:
            self._show_bars(plan, budget, measured)
        self._show_figures(shot, plan)

    def _show_bars(self, plan: Plan, budget: Budget, measured: dict[str, float]) -> None:
        planned = {row.category: float(row.host_bytes + row.device_bytes) for row in plan.memory}
        self.of.setText(tr("of {size}", size=memory(budget.capacity_bytes)))
        for key, sizes in (("plan", planned), ("measured", measured)):
            segments = [Segment(cast("Category", name), sizes[name]) for name in CATEGORIES if sizes.get(name)]
            self.bars[key].set_memory(segments, budget.capacity_bytes)
            self.sums[key].setText(memory(sum(sizes.values())) if sizes else "")
        shown = tuple(name for name in CATEGORIES if planned.get(name) or measured.get(name))
        if shown != self._categories:
            self._categories = shown
            while (item := self._flow.takeAt(0)) is not None:
                old = item.widget()
                if old is not None:
                    old.deleteLater()
            for name in shown:
                self._flow.addWidget(MemoryLegend(cast("Category", name)))
            self._legend.updateGeometry()
        self._show_gap(sum(planned.values()), sum(measured.values()))

    def _show_gap(self, planned: float, measured: float) -> None:
        known = planned > 0 and measured > 0
        self.gap.setVisible(known)
        if known:
            gap = abs(measured - planned) / planned
            words = tr("Gap {share}") if gap > GAP_THAT_MATTERS else tr("Within {share}")
            why = tr("{measured} measured, {planned} planned", measured=memory(measured), planned=memory(planned))
            state: State = "warn" if gap > GAP_THAT_MATTERS else "good"
            self.gap.set_badge(words.format(share=percent(gap)), state, explanation=why)

    def _show_figures(self, shot: Snapshot, plan: Plan | None) -> None:
        times = plan.timeline if plan else None
        speed, step = _recent(shot.points["tokens_per_second"]), _recent(shot.points["step_seconds"])
        cpu = shot.points["cpu_percent"]
        planned = tr("plan {value}", value=tokens_per_second(times.tokens_per_second)) if times else ""
        self.figures["tokens_per_second"].setText(_beside(None if speed is None else tokens_per_second(speed), planned))
        planned = tr("plan {value}", value=duration(times.step_seconds)) if times else ""
        self.figures["step_seconds"].setText(_beside(None if step is None else duration(step), planned))
        now = float(cpu.value[-1]) if len(cpu) else None
        self.figures["cpu_percent"].setText("" if now is None else tr("{cores} cores busy", cores=number(now / 100, 1)))
        self.cpu.set_values(cpu.value[-60:].tolist())

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(Text(tr("System memory (RAM)"), size=12, weight=500))
        head.addStretch(1)
        head.addWidget(self.of)
        self.body.setSpacing(6)
        self.body.addLayout(head)
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for row, (key, label) in enumerate((("plan", tr("plan")), ("measured", tr("measured")))):
            grid.addWidget(Text(label, size=12, tone="tx3"), row, 0)
            grid.addWidget(self.bars[key], row, 1)
            grid.addWidget(self.sums[key], row, 2)
        self.body.addLayout(grid)
        self.body.addWidget(self._legend)
        self.body.addWidget(self.waiting)
        self.body.addWidget(Rule())
        rows = QGridLayout()
        rows.setVerticalSpacing(4)
        rows.setColumnStretch(1, 1)
        labels = {"tokens_per_second": tr("Speed"), "step_seconds": tr("Step time"), "cpu_percent": tr("CPU")}
        for row, (key, label) in enumerate(labels.items()):
            rows.addWidget(Text(label, size=12, weight=500), row, 0)
            if key == "cpu_percent":
                rows.addWidget(self.cpu, row, 1)
            self.figures[key].setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            rows.addWidget(self.figures[key], row, 2)
        self.body.addLayout(rows)
        self.body.addStretch(1)


def _recent(points: Points, window: int = 20) -> float | None:
    """The mean of the last finite values: one slow step is not the speed."""
    values = points.value[-window:]
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def _beside(measured: str | None, planned: str) -> str:
    return " · ".join(part for part in (measured or tr("not measured yet"), planned) if part)
