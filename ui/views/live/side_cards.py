"""The cards at the right of Live: events or settings, and the answers of each evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from studio.recipes import FIELDS, Recipe, value_or_default
from studio.recipes.setting_text import setting_text
from studio.runs.rows import SampleRow
from ui.format import number
from ui.forms.form import setting_words
from ui.tr import plural, tr
from ui.viewmodels.live_run import Snapshot
from ui.viewmodels.run_words import EventWords, event_words
from ui.widgets.button import IconButton
from ui.widgets.card import Card
from ui.widgets.cells import SECOND_LINE_ROLE, TONE_ROLE, TextDelegate
from ui.widgets.chart_table import RowsModel
from ui.widgets.segmented import SegmentedControl
from ui.widgets.table import DataTable
from ui.widgets.text import Text

Index = QModelIndex | QPersistentModelIndex


class EventsModel(RowsModel):
    """Events with the newest on top, in two lines."""

    def __init__(self, events: Sequence[EventWords]) -> None:
        super().__init__([tr("Event")], [[event.title] for event in events])
        self._events = events

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Title; step and detail below."""
        event = self._events[index.row()]
        if role == SECOND_LINE_ROLE:
            step = tr("Step {step}", step=number(event.step))
            return f"{step} · {event.detail}" if event.detail else step
        if role == TONE_ROLE:
            return {"bad": "bad", "warn": "warn"}.get(event.state, "tx1")
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{event.title}\n{event.detail}".strip()
        return super().data(index, role)


class EventsCard(Card):
    """What happened, or what was launched: the recipe of this run, whatever a form shows by now."""

    def __init__(self) -> None:
        super().__init__(tr("Events"))
        options = (("events", tr("Events")), ("settings", tr("Settings")))
        self.switch = SegmentedControl(tr("Events or settings"), options, small=True)
        self.switch.picked.connect(self._switched)
        self.title.setVisible(False)  # the switch says it
        self.header.insertWidget(0, self.switch)
        self.table = DataTable(tr("Events of the run"), density="two-line")
        self.table.horizontalHeader().hide()
        self.table.setItemDelegate(TextDelegate(self.table, strong=True))
        self.table.horizontalHeader().setStretchLastSection(True)
        self.none = Text(tr("Checkpoints, evaluations and warnings appear here."), size=12, tone="tx3", wrap=True)
        self.none.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.settings = DataTable(tr("Settings of the run"), density="dense")
        self._stack = QStackedWidget()
        for page in (self.none, self.table, self.settings):
            self._stack.addWidget(page)
        self.body.setContentsMargins(4, 0, 4, 4)
        self.body.addWidget(self._stack)
        self._shown: list[EventWords] = []
        self._recipe: Recipe | None = None
        self._model: EventsModel | None = None

    @property
    def shown(self) -> list[EventWords]:
        """The events of the list, newest first."""
        return self._shown

    def show_run(self, shot: Snapshot) -> None:
        """The events as they are now, and the settings once."""
        events = [words for row in reversed(shot.events) if (words := event_words(row)) is not None]
        if events != self._shown:
            self._shown = events
            self._model = EventsModel(events)
            self.table.setModel(self._model)
        alarms = sum(event.state in ("bad", "warn") for event in events)
        self.meta.setText(plural(alarms, "{count} to look at", "{count} to look at") if alarms else "")
        if shot.recipe is not None and shot.recipe != self._recipe:
            self._recipe = shot.recipe
            self._settings_model = SettingsModel(shot.recipe)
            self.settings.setModel(self._settings_model)
            self.settings.set_column(0, 124)
            self.settings.set_column(1, None)
        self._switched(self.switch.value)

    def _switched(self, value: object) -> None:
        page = self.settings if value == "settings" else self.table if self._shown else self.none
        self._stack.setCurrentWidget(page)


class SettingsModel(RowsModel):
    """Every setting with its value as the engine was given it, in the order of the schema."""

    def __init__(self, recipe: Recipe) -> None:
        rows = []
        for key, spec in FIELDS.items():
            value = value_or_default(recipe, key)
            text = setting_text(value)
            if text:
                worded = setting_words(spec, value) if isinstance(value, bool | int | float | str) else text
                rows.append([tr(spec.label), worded])
        super().__init__([tr("Setting"), tr("Value")], rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The texts; the tooltip has the whole of one that is cut."""
        if role == TONE_ROLE:
            return "tx1" if index.column() else "tx2"
        return super().data(index, Qt.ItemDataRole.DisplayRole if role == Qt.ItemDataRole.ToolTipRole else role)


class SamplesCard(Card):
    """One prompt and its answer; previous and next go through all, oldest first. The newest is shown until one goes."""

    def __init__(self) -> None:
        super().__init__(tr("Samples"))
        self.previous = IconButton("chevron-left", tr("Previous sample"), size="inline")
        self.next = IconButton("chevron-right", tr("Next sample"), size="inline")
        self.place = Text("", size=12, weight=500)
        for widget in (self.previous, self.place, self.next):
            self.add_to_header(widget)
        self.previous.clicked.connect(lambda: self.go(-1))
        self.next.clicked.connect(lambda: self.go(1))
        self.prompt = Text("", size=12, tone="tx2", wrap=True)
        self.step = Text("", size=12, tone="tx3")
        self.answer = Text("", size=12, wrap=True)
        well = Card(surface="well")
        well.body.setContentsMargins(8, 6, 8, 6)
        well.body.addWidget(self.prompt)
        self.none = Text(tr("Answers appear with each evaluation."), size=12, tone="tx3", wrap=True)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._scroll.setAccessibleName(tr("Sample"))
        self._scroll.setWidget(_stacked(well, self.step, self.answer))
        self.body.addWidget(self.none, 0, Qt.AlignmentFlag.AlignTop)
        self.body.addWidget(self._scroll, 1)
        self._samples: tuple[SampleRow, ...] = ()
        self._index = -1
        self._follow = True
        self._show()

    def show_samples(self, samples: tuple[SampleRow, ...]) -> None:
        """All samples of the run, oldest first."""
        if samples == self._samples:
            return
        self._samples = samples
        if self._follow or not 0 <= self._index < len(samples):
            self._index = len(samples) - 1
        self._show()

    def forget(self) -> None:
        """Another run comes."""
        self._samples, self._index, self._follow = (), -1, True
        self._show()

    def go(self, by: int) -> None:
        """Another sample; at the newest one, new ones are followed again."""
        if self._samples:
            self._index = min(max(self._index + by, 0), len(self._samples) - 1)
            self._follow = self._index == len(self._samples) - 1
            self._show()

    def _show(self) -> None:
        there = bool(self._samples)
        self.none.setVisible(not there)
        for widget in (self._scroll, self.previous, self.next, self.place):
            widget.setVisible(there)
        if not there:
            return
        sample = self._samples[self._index]
        self.step.setText(tr("Step {step}", step=number(sample.step)))
        self.place.setText(tr("{at} of {count}", at=number(self._index + 1), count=number(len(self._samples))))
        self.previous.setEnabled(self._index > 0)
        self.next.setEnabled(self._index < len(self._samples) - 1)
        self.prompt.setText(sample.prompt)
        self.answer.setText(sample.text or tr("(an empty answer)"))


def _stacked(*widgets: QWidget) -> QWidget:
    page = QWidget()
    page.setProperty("scrolled", True)
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 4, 0)
    column.setSpacing(8)
    for widget in widgets:
        column.addWidget(widget)
    column.addStretch(1)
    return page
