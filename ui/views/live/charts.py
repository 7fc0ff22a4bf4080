"""The four charts of a run: one x for all, full history, and marks where a number was not finite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from ui import theme as themes
from ui.format import learning_rate, loss, number
from ui.tr import tr
from ui.viewmodels.live_run import Snapshot
from ui.views.live.event_lane import EventLane
from ui.views.live.marks import Marks
from ui.widgets.chart_card import AXES, ChartCard, ChartState
from ui.widgets.chart_series import Axis, Points
from ui.widgets.segmented import SegmentedControl

LANE_LABEL = 48
"""Room at the left of the loss chart, so that the lane's word stands clear of its marks."""


class LiveCharts(QWidget):
    """Loss with its event lane; learning rate, gradient norm and tokens per second below."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("pane", "charts")
        self._axis: Axis = "step"
        self._shot: Snapshot | None = None
        self._following = False
        self.loss = ChartCard(tr("Loss"), word=loss, parent=self)
        self.loss.add_series("loss", tr("training"), 1, "smoothed")
        self.loss.add_series("evaluation_loss", tr("evaluation"), 2, "evaluation")
        self.small = {
            "learning_rate": self._small(tr("Learning rate"), "learning_rate", learning_rate),
            "grad_norm": self._small(tr("Gradient norm"), "grad_norm", lambda value: number(value, 2)),
            "tokens_per_second": self._small(tr("Tokens per second"), "tokens_per_second", number),
        }
        self.cards = {"loss": self.loss, **self.small}
        self.marks = {key: Marks(self.cards[key]) for key in ("loss", "grad_norm")}
        words = {"step": tr("Step"), "time": tr("Time"), "tokens": tr("Tokens")}
        self.axis_switch = SegmentedControl(tr("Horizontal axis"), [(a, words[a]) for a in AXES], small=True)
        self.axis_switch.picked.connect(self.set_axis)
        self.loss.header.insertWidget(self.loss.header.count() - 1, self.axis_switch)
        self.lane = EventLane(self.loss.plot)
        self.loss.body.addWidget(self.lane)
        for card in self.cards.values():
            card.plot.next_axis.connect(self._next_axis)
            card.plot.getPlotItem().getAxis("left").setStyle(maxTickLevel=0)
            card.plot.getPlotItem().vb.sigXRangeChanged.connect(lambda box, _range, card=card: self._follow_x(card))
        for key in ("loss", "grad_norm", "tokens_per_second"):
            self.cards[key].plot.getPlotItem().getAxis("left").word = None  # as many digits as the ticks need
        self.loss.plot.getPlotItem().getAxis("left").setWidth(themes.current().px(LANE_LABEL))
        self.loss.plot.getPlotItem().getAxis("left").setTickDensity(2.0)
        self._lay_out()

    def show_run(self, shot: Snapshot, state: ChartState) -> None:
        """Draw what is new. A chart without its metric says so; the others are drawn all the same."""
        self._shot = shot
        for key, card in self.cards.items():
            self._fill(card, key, shot)
        self._fill(self.loss, "evaluation_loss", shot)
        for key, card in self.cards.items():
            points = len(shot.points[key]) or (key == "loss" and len(shot.points["evaluation_loss"]))
            if points:
                card.set_state(state)
            elif shot.row.is_active and not len(shot.points["loss"]):
                card.set_state("waiting")
            else:
                card.set_state("waiting", tr("This run has no such points."))
        self._draw_marks(shot)
        self.lane.show_events(shot, self._axis)

    def set_axis(self, axis: object) -> None:
        """All charts against steps, time or tokens."""
        self._axis = next(name for name in AXES if name == axis)
        self.axis_switch.set_value(self._axis)
        for card in self.cards.values():
            card.set_axis(self._axis)
        if self._shot is not None:
            self._draw_marks(self._shot)
            self.lane.show_events(self._shot, self._axis)

    def forget(self) -> None:
        """Another run comes: what is drawn belongs to the last one."""
        self._shot = None
        for card in self.cards.values():
            for key in ("loss", "evaluation_loss") if card is self.loss else (self._key_of(card),):
                card.set_points(key, Points())
            card.set_state("waiting")
            card.plot.show_everything()

    def shutdown(self) -> None:
        """The window closes."""
        for card in self.cards.values():
            card.plot.shutdown()

    def changeEvent(self, event: QEvent) -> None:
        """Marks follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "marks"):
            for marks in self.marks.values():
                marks.restyle()

    def _fill(self, card: ChartCard, key: str, shot: Snapshot) -> None:
        points = shot.points[key]
        if card.isVisible() or not card.plotted(key)[0].size:  # a hidden chart skips, but is not found empty
            card.set_points(key, points)
            _level(card, points)

    def _draw_marks(self, shot: Snapshot) -> None:
        steps = sorted({event.step for event in shot.events if event.kind == "NonFiniteSeen"})
        for key, marks in self.marks.items():
            label = tr("not finite") if key == "loss" else ""
            marks.show([(step, label) for step in steps], self._axis, shot.points[key])

    def _follow_x(self, moved: ChartCard) -> None:
        """All charts show one range of x. Qt graphs' own links align by pixels on the screen, not by value."""
        if self._following:
            return
        self._following = True
        master, box = self.loss.plot.getPlotItem().vb, moved.plot.getPlotItem().vb
        if moved is not self.loss:
            if box.autoRangeEnabled()[0]:  # "show everything" was asked of this one
                box.disableAutoRange("x")
                master.enableAutoRange(axis="x")
                master.updateAutoRange()
            else:
                master.setXRange(*box.viewRange()[0], padding=0)
        for card in self.small.values():
            card.plot.getPlotItem().vb.setXRange(*master.viewRange()[0], padding=0)
        self._following = False

    def _next_axis(self) -> None:
        self.set_axis(AXES[(AXES.index(self._axis) + 1) % len(AXES)])

    def _key_of(self, card: ChartCard) -> str:
        return next(key for key, mine in self.cards.items() if mine is card)

    def _small(self, title: str, key: str, word: Callable[[float], str]) -> ChartCard:
        card = ChartCard(title, word=word, legend=False, parent=self)
        card.add_series(key, title, 1)
        return card

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(10)
        grid.addWidget(self.loss, 0, 0, 1, 3)
        for column, card in enumerate(self.small.values()):
            grid.addWidget(card, 1, column)
            grid.setColumnStretch(column, 1)
        grid.setRowStretch(0, 21)
        grid.setRowStretch(1, 10)


def _level(card: ChartCard, points: Points) -> None:
    """A curve that is one value throughout stands in the middle of a scale from zero, not on a made-up one."""
    box = card.plot.getPlotItem().vb
    finite = points.value[np.isfinite(points.value)]
    if len(finite) and finite[0] > 0 and (finite == finite[0]).all() and not card.logarithmic:
        box.setYRange(0, 2 * float(finite[0]), padding=0)
    elif not box.autoRangeEnabled()[1]:
        box.enableAutoRange(axis="y")
