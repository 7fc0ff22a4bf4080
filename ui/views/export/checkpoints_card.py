"""Which run and which of its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.runs.rows import RunRow
from ui import theme as themes
from ui.format import disk, loss, number
from ui.tr import plural, tr
from ui.views.export.facts import RunFacts
from ui.views.export.timeline import CheckpointTimeline, Mark
from ui.widgets.card import Card
from ui.widgets.combo import Combo
from ui.widgets.text import Text


class KeptMark(QWidget):
    """The point of the legend: filled or hollow."""

    def __init__(self, kept: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kept = kept
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """The point."""
        return QSize(12, 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A disc, or a ring."""
        theme = themes.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("s1"), 2))
        painter.setBrush(theme.color("s1" if self._kept else "bg2"))
        painter.drawEllipse(QPointF(6, self.height() / 2), 4, 4)
        painter.end()


class CheckpointsCard(Card):
    """`run_picked` carries a run's id, `step_picked` a step."""

    run_picked = Signal(object)
    step_picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Checkpoints"), " ", parent=parent)
        self.timeline = CheckpointTimeline()
        self.timeline.picked.connect(self.step_picked)
        self._kept, self._gone = Text("", size=12, tone="tx2"), Text("", size=12, tone="tx2")
        self._gone_mark = KeptMark(False)
        self.run = Combo(tr("Run"))
        self.run.setFixedWidth(themes.current().px(260))
        self.run.picked.connect(self.run_picked)
        self.why = Text("", size=12, tone="tx3")
        for widget in (KeptMark(True), self._kept, self._gone_mark, self._gone, self.run):
            self.add_to_header(widget)
        self.body.setSpacing(2)
        self.body.addWidget(self.timeline)
        self.body.addWidget(self.why)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def set_runs(self, runs: Sequence[RunRow], chosen: str) -> None:
        """Which runs can be picked."""
        self.run.set_choices((row.id, row.name or row.id) for row in runs)
        self.run.set_value(chosen)

    def show_facts(self, facts: RunFacts, step: int | None) -> None:
        """Show the checkpoints of a run, `step` chosen."""
        best, last = facts.best, facts.standing[-1].step if facts.standing else None
        judged = any(row.evaluation_loss is not None for row in facts.checkpoints)
        self.timeline.set_marks(
            [
                Mark(row.step, row.evaluation_loss, not row.deleted, best is not None and row.step == best.step,
                     row.step == last)
                for row in facts.checkpoints
            ],
            step,
        )  # fmt: skip
        self.meta.setText(tr("evaluation loss, lower is better") if judged else tr("not evaluated while training"))
        sizes = [row.size_bytes for row in facts.standing]
        largest = disk(max(sizes)) if sizes else ""
        kept = plural(len(sizes), "{count} kept on disk, {size}", "{count} kept on disk, {size} each", size=largest)
        self._kept.setText(kept)
        removed = len(facts.checkpoints) - len(sizes)
        self._gone.setText(tr("{count} removed by the keeping rule", count=number(removed)))
        for widget in (self._gone, self._gone_mark):
            widget.setVisible(removed > 0)
        self.why.setText(self._why(facts))

    def _why(self, facts: RunFacts) -> str:
        best = facts.best
        if best is None:
            return ""
        if best.evaluation_loss is None:
            return tr("Step {step} is marked: no checkpoint was evaluated, and it is the last.", step=number(best.step))
        gone = [row.evaluation_loss for row in facts.checkpoints if row.deleted and row.evaluation_loss is not None]
        lower = [value for value in gone if value < best.evaluation_loss]
        note = " " + tr("A removed one had {loss}.", loss=loss(min(lower))) if lower else ""
        step = number(best.step)
        return tr("Step {step} is marked best: the lowest evaluation loss of those on disk.", step=step) + note
