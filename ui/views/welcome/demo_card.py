"""The demo on this CPU in one click, planned as soon as the screen is come to: its figures are the planner's."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.recipes.library import DEMO
from ui.bridge import Control
from ui.context import Context
from ui.format import duration, estimated, memory, memory_of, tokens_per_second
from ui.tr import tr
from ui.widgets.badge import BadgeLabel, State
from ui.widgets.button import Button
from ui.widgets.card import Card, KeyFigure
from ui.widgets.text import IconLabel, Text
from ui.widgets.toast import Message
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.planning.service import Planned

_STATES: dict[str, State] = {"fits": "good", "tight": "warn", "does_not_fit": "bad"}


class DemoCard(Card):
    """Offers the demo where its model lies on this disk, and else the road that is open: picking a model."""

    def __init__(self, context: Context, recipe: Path = DEMO, parent: QWidget | None = None) -> None:
        super().__init__(tr("CPU demo"), surface="accent", parent=parent)
        self._context, self._recipe = context, recipe
        self._planned: Planned | None = None
        self._launching = False
        self._token = secrets.token_hex(8)
        self.badge = BadgeLabel("", "neutral")
        self.badge.setVisible(False)
        self.add_to_header(self.badge)
        self.about = Text(tr("SmolLM2-135M learns a lighthouse keeper’s tone from 190 short rows."), wrap=True)
        labels = (tr("Time, predicted"), tr("Speed, predicted"), tr("RAM"))
        self.figures = [KeyFigure(label) for label in labels]
        self.basis = Text(tr("Figures from the planner, for this CPU."), size=12, tone="tx3", wrap=True)
        self.run = Button(tr("Run the demo on CPU"), icon="play", kind="primary", size="large", keys="↵")
        self.run.setAccessibleName(tr("Run the demo on CPU"))
        self.run.setDefault(True)
        self.run.setEnabled(False)
        self.pick = Button(tr("Pick a model"), kind="quiet", size="medium")
        self.run.clicked.connect(self.launch)
        self.pick.clicked.connect(lambda: context.navigate("new", step="model"))
        self._lay_out()

    def arrive(self) -> None:
        """A new visit: another launch is another run, and the plan is made for the machine as it is now."""
        if not self._launching:
            self._token = secrets.token_hex(8)
            self._plan()

    def launch(self) -> None:
        """Launch the demo and go to it. Asking again does nothing."""
        planned, services, token = self._planned, self._context.services, self._token
        if self._launching or planned is None or planned.plan is None:
            return
        self._launching = True
        self.run.setEnabled(False)
        recipe, plan = planned.recipe, planned.plan
        self._context.tasks.run(
            lambda control: services.runs.launch(recipe, plan, token=token, tags=("demo",)),
            owner=self, on_result=self._launched, on_error=self._launch_failed, touches=("runs",),
        )  # fmt: skip

    def _lay_out(self) -> None:
        self.header.setContentsMargins(20, 16, 20, 6)
        self.body.setContentsMargins(20, 0, 20, 18)
        self.body.setSpacing(14)
        self.title.setProperty("textSize", "15")
        figures = QHBoxLayout()
        figures.setSpacing(24)
        for figure in self.figures:
            figures.addWidget(figure, 1)
        basis = QHBoxLayout()
        basis.setSpacing(8)
        basis.addWidget(IconLabel("chip", "tx3", 14))
        basis.addWidget(self.basis, 1)
        actions = QHBoxLayout()
        actions.setSpacing(16)
        actions.addWidget(self.run)
        actions.addWidget(self.pick)
        actions.addStretch(1)
        self.body.addWidget(self.about)
        self.body.addLayout(figures)
        self.body.addWidget(self._road())
        self.body.addLayout(basis)
        self.body.addLayout(actions)

    @staticmethod
    def _road() -> Card:
        """What one gets to see."""
        road = Card(surface="well")
        row = QHBoxLayout()
        row.setSpacing(8)
        steps = (tr("Plan"), tr("Live charts"), tr("Compare"), tr("Export"))
        for index, step in enumerate(steps):
            if index:
                row.addWidget(IconLabel("chevron-right", "tx3", 14), 1, Qt.AlignmentFlag.AlignCenter)
            row.addWidget(Text(step, size=12, tone="tx2"))
        road.body.addLayout(row)
        return road

    def _plan(self) -> None:
        services, path = self._context.services, self._recipe

        def work(control: Control) -> Planned:
            return services.planning.full(services.recipes.open(path))

        self._context.tasks.run(work, owner=self, on_result=self._show, on_error=self._failed)

    def _show(self, planned: Planned) -> None:
        plan = planned.plan
        errors = [problem for problem in planned.problems if problem.severity == "error"]
        if plan is None or (errors and plan.verdict != "does_not_fit"):
            self._refuse(str(words_for(errors[0])) if errors else "")
            return
        self._planned = planned if planned.can_launch else None
        budget, times = plan.budgets[0], plan.timeline
        words = {"fits": tr("Fits"), "tight": tr("Tight"), "does_not_fit": tr("Doesn't fit")}[plan.verdict]
        room = memory_of(budget.planned_bytes, budget.usable_bytes)
        why = tr("What the plan needs of the memory that is usable, beside other programs.")
        badge = tr("{verdict} · {room} RAM", verdict=words, room=room)
        self.badge.set_badge(badge, _STATES[plan.verdict], explanation=why)
        self.badge.setVisible(True)
        values = (
            duration(times.total_seconds),
            tokens_per_second(times.tokens_per_second),
            memory(budget.planned_bytes),
        )
        for figure, value in zip(self.figures, values, strict=True):
            figure.set_value(estimated(value))
        basis = tr("measured rates") if times.measured else tr("assumed rates")
        cores = tr("{count} threads", count=plan.numerics.threads)
        self.basis.setText(tr("Figures from the planner, for this CPU: {cores}, {basis}.", cores=cores, basis=basis))
        self.run.setEnabled(planned.can_launch)
        self.run.setToolTip("" if planned.can_launch else str(words_for(errors[0])))

    def _refuse(self, why: str) -> None:
        """The demo cannot run here: say why, and make the other way the first one."""
        self._planned = None
        self.run.setEnabled(False)
        self.run.setToolTip(why)
        self.basis.setText(tr("The demo is not set up here. {why}", why=why).strip())
        self.pick.set_kind("primary")

    def _failed(self, error: Exception) -> None:
        self._refuse(str(words_for(error)))

    def _launched(self, run_id: str) -> None:
        self._launching = False
        self._context.watch.now()
        self._context.navigate("live", run=run_id)

    def _launch_failed(self, error: Exception) -> None:
        self._launching = False
        self.run.setEnabled(True)
        words = words_for(error)
        self._context.toast(Message("bad", tr("Not launched. {what}", what=words.what), words.remedy))
