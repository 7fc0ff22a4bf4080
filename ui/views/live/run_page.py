"""The screen of one run: header, outcome, phases or charts, log."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from ui import theme as themes
from ui.tr import tr
from ui.viewmodels.live_run import Snapshot
from ui.views.live.charts import LiveCharts
from ui.views.live.header import RunHeader
from ui.views.live.memory_card import MemoryCard
from ui.views.live.outcome import Outcome
from ui.views.live.preparing import PreparingPage
from ui.views.live.side_cards import EventsCard, SamplesCard
from ui.widgets.button import Button
from ui.widgets.log_drawer import LogDrawer
from ui.widgets.scroll_page import ScrollPage
from ui.widgets.text import KeyCap, Rule

LEAST_HEIGHT = 400
STACKED_BELOW, STACKED_HEIGHT = 1040, 820


class RunPage(QWidget):
    """`keys` are the shortcuts by name, as key caps show them."""

    def __init__(self, keys: dict[str, str]) -> None:
        super().__init__()
        self.header, self.outcome, self.preparing = RunHeader(keys), Outcome(), PreparingPage()
        self.charts, self.memory = LiveCharts(), MemoryCard()
        self.events, self.samples, self.log = EventsCard(), SamplesCard(), LogDrawer()
        self.log.setProperty("pane", "log")
        self.log.setMinimumHeight(100)
        self.folder = Button(tr("Open run folder"), icon="folder", kind="quiet")
        self.log.buttons.addWidget(self.folder)
        self.log.buttons.addWidget(KeyCap(keys["log"]))
        self._charts_page = self._beside()
        self._states = QStackedWidget()
        self._states.addWidget(self._charts_page)
        self._states.addWidget(self.preparing)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self._states)
        splitter.addWidget(self.log)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([560, 112])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(Rule())
        column.addSpacing(10)
        column.addWidget(self.outcome)
        column.addWidget(splitter, 1)

    def show_run(self, shot: Snapshot) -> None:
        """The run as it is now. Before the first step no chart is drawn."""
        self.header.show_run(shot)
        self.outcome.show_run(shot)
        if shot.row.status in ("launching", "preparing"):
            self._states.setCurrentWidget(self.preparing)
            self.preparing.show_run(shot)
            return
        self._states.setCurrentWidget(self._charts_page)
        self.charts.show_run(shot, "paused" if shot.row.status == "paused" else "live")
        self.memory.show_run(shot)
        self.events.show_run(shot)
        self.samples.show_samples(shot.samples)

    def forget(self) -> None:
        """Another run comes: nothing of the last one may stay."""
        self.charts.forget()
        self.samples.forget()
        self.log.clear()

    def toggle_log(self) -> None:
        """Open or close the log drawer."""
        self.log.setVisible(not self.log.isVisible())
        if self.log.isVisible():
            self.log.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _beside(self) -> QWidget:
        page = ScrollPage()
        right = QVBoxLayout()
        right.setSpacing(10)
        below = QHBoxLayout()
        below.setSpacing(10)
        below.addWidget(self.events, 1)
        below.addWidget(self.samples, 1)
        right.addWidget(self.memory)
        right.addLayout(below, 1)
        self._row = QHBoxLayout(page)
        self._row.setContentsMargins(20, 0, 20, 10)
        self._row.setSpacing(10)
        self._row.addWidget(self.charts, 60)
        self._row.addLayout(right, 40)
        self._beside_page = page
        return page.area

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow window has the cards below the charts, a low one scrolls: neither squeezes them."""
        super().resizeEvent(event)
        theme = themes.current()
        stacked = self.width() < theme.px(STACKED_BELOW)
        way = QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight
        self._row.setDirection(way)
        self._beside_page.setMinimumHeight(theme.px(STACKED_HEIGHT if stacked else LEAST_HEIGHT))
