"""Two to eight runs side by side: curves, settings, results, answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from ui import theme as themes
from ui.format import learning_rate, loss, number
from ui.tr import plural, tr
from ui.viewmodels.comparison import METRICS, Compared, metric_words, unlike_words
from ui.viewmodels.run_table import letter
from ui.views.runs.compare_tables import compare_table, headers_of, results_model, settings_model
from ui.widgets.badge import BadgeLabel
from ui.widgets.card import Card
from ui.widgets.chart_card import AXES, ChartCard
from ui.widgets.chart_legend import Kind
from ui.widgets.chart_series import Axis
from ui.widgets.combo import Combo
from ui.widgets.scroll_page import ScrollPage
from ui.widgets.segmented import SegmentedControl
from ui.widgets.table import DataTable
from ui.widgets.text import Text
from ui.widgets.toggle import Toggle

MANY = 4
LEAST_HEIGHT = 400
STACKED_BELOW, STACKED_HEIGHT = 1040, 1000
HINT_HEIGHT = 36
QWIDGETSIZE_MAX = 16_777_215


class ComparePanel(QWidget):
    """`show_comparison` fills it; until then it says what to do."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("pane", "compare")
        self._data: Compared | None = None
        self.chart: ChartCard | None = None
        self._axis: Axis = "tokens"
        self._drawn: tuple[str, tuple[str, ...]] = ("", ())
        self.hint = Text(tr("Tick two to eight runs to compare them."), tone="tx3")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.curve = Combo(tr("Compared curve"), [(key, metric_words(key)) for key in METRICS])
        self.curve.picked.connect(lambda key: self._show_chart())
        words = {"step": tr("Step"), "time": tr("Time"), "tokens": tr("Tokens")}
        self.axis = SegmentedControl(tr("Horizontal axis"), [(axis, words[axis]) for axis in AXES], small=True)
        self.axis.set_value("tokens")
        self.axis.picked.connect(self._set_axis)
        self.curve.setMinimumWidth(150)
        self.differences = Toggle(tr("Differences only"))
        self.differences.setChecked(True)
        self.differences.toggled.connect(lambda on: self._show_settings())
        self.prompt = Combo(tr("Prompt"))
        self.prompt.picked.connect(lambda prompt: self._show_answers())
        self._build()

    @property
    def data(self) -> Compared | None:
        """What is compared now."""
        return self._data

    def clear(self, text: str = "") -> None:
        """Nothing to compare; `text` says why."""
        self._data = None
        self.hint.setText(text or tr("Tick two to eight runs to compare them."))
        self._stack.setCurrentWidget(self.hint)
        self.setMaximumHeight(themes.current().px(HINT_HEIGHT))  # the table may have the room

    def show_comparison(self, data: Compared) -> None:
        """Compare these runs."""
        before, self._data = self._data, data
        self.setMaximumHeight(QWIDGETSIZE_MAX)
        self._stack.setCurrentWidget(self._page)
        if before is not None and before.slots == data.slots and before.runs == data.runs:
            return
        self._show_chart()
        if before is None or headers_of(before, "") != headers_of(data, "") or _settings(before) != _settings(data):
            self._show_settings()
        self._show_results()
        if before is None or before.prompts != data.prompts:
            self.prompt.set_choices([(text, text) for text in data.prompts])
            self._answers_card.setVisible(bool(data.prompts))
        if before is None or before.samples != data.samples or before.slots != data.slots:
            self._show_answers()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow window has curves, settings and results below one another, a low one scrolls."""
        super().resizeEvent(event)
        theme = themes.current()
        stacked = self.width() < theme.px(STACKED_BELOW)
        way = QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight
        self._above.setDirection(way)
        self._inside.setMinimumHeight(theme.px(STACKED_HEIGHT if stacked else LEAST_HEIGHT))

    def shutdown(self) -> None:
        """The window closes."""
        if self.chart is not None:
            self.chart.plot.shutdown()

    def _show_chart(self) -> None:
        data = self._data
        if data is None:
            return
        key = str(self.curve.currentData())
        drawn = (key, tuple(headers_of(data, "")))
        if self.chart is None or drawn != self._drawn:
            self._drawn = drawn
            self._replace_chart(data, key)
        assert self.chart is not None
        for slot, points in zip(data.slots, data.curves[key], strict=True):
            self.chart.set_points(letter(slot), points)
        if not any(len(points) for points in data.curves[key]):
            self.chart.set_state("waiting", tr("None of these runs has such points."))

    def _replace_chart(self, data: Compared, key: str) -> None:
        """A chart for another curve or other runs; news of the same ones only move its points."""
        word = {"learning_rate": learning_rate, "tokens_per_second": number}.get(key, loss)
        chart = ChartCard(metric_words(key), word=word, current_value=False, parent=self)
        kinds: dict[str, Kind] = {"evaluation_loss": "evaluation", "loss": "smoothed"}
        for slot, unlike in zip(data.slots, data.comparison.unlike, strict=True):
            label = f"{letter(slot)} ≠" if unlike else letter(slot)
            chart.add_series(letter(slot), label, slot, kinds.get(key, "line"))
        if word is loss:
            chart.plot.getPlotItem().getAxis("left").word = None  # as many digits as the ticks need
        chart.plot.getPlotItem().getAxis("left").setStyle(maxTickLevel=0)
        chart.set_axis(self._axis)
        chart.meta.setText(tr("fewer runs read better") if len(data.runs) > MANY else "")
        choosers = QHBoxLayout()
        choosers.setContentsMargins(4, 0, 4, 4)
        choosers.addWidget(self.curve)
        choosers.addStretch(1)
        choosers.addWidget(self.axis)
        chart.body.insertLayout(0, choosers)
        for widget in (self.curve, self.axis):
            widget.setVisible(True)
        if self.chart is not None:
            self.chart.plot.shutdown()
            self._chart_place.removeWidget(self.chart)
            self.chart.deleteLater()
        self.chart = chart
        self._chart_place.addWidget(chart, 1)

    def _set_axis(self, axis: object) -> None:
        self._axis = next(name for name in AXES if name == axis)
        if self.chart is not None:
            self.chart.set_axis(self._axis)

    def _show_settings(self) -> None:
        data = self._data
        if data is None:
            return
        settings = data.comparison.settings
        differ = sum(row.differs for row in settings)
        self._settings.meta.setText(tr("{count} of {total} differ", count=number(differ), total=number(len(settings))))
        model = settings_model(data, self.differences.isChecked())
        self._alike.setVisible(model.rowCount() == 0)
        _replace(self._settings, compare_table(tr("Settings compared"), model, data.slots, numbers=False))

    def _show_results(self) -> None:
        data = self._data
        if data is None:
            return
        baseline = letter(data.slots[0])
        self._results.meta.setText(tr("change from {run}", run=baseline))
        model = results_model(data)
        _replace(self._results, compare_table(tr("Results compared"), model, data.slots, numbers=True))
        parts = [
            tr("{run}: {reasons}", run=letter(slot), reasons=unlike_words(reasons))
            for slot, reasons in zip(data.slots, data.comparison.unlike, strict=True)
            if reasons
        ]
        self.unlike.setVisible(bool(parts))
        if parts:
            why = tr("Other base model: speed, memory and loss are not judged. Other data: loss is not.")
            self.unlike.set_badge(tr("≠ not like for like"), "neutral", icon="", explanation=why)
            self.unlike_text.setText("; ".join(parts))
        self.unlike_text.setVisible(bool(parts))

    def _show_answers(self) -> None:
        data, prompt = self._data, self.prompt.currentData()
        while (item := self._answers.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        if data is None or not isinstance(prompt, str):
            return
        for index, run in enumerate(data.runs):
            sample = data.answer(index, prompt)
            text = tr("This run was not asked.") if sample is None else sample.text or tr("(an empty answer)")
            fact = "" if sample is None else tr(
                "step {step} · {tokens}", step=number(sample.step),
                tokens=plural(sample.new_tokens, "{count} token", "{count} tokens"),
            )  # fmt: skip
            self._answers.addWidget(_answer(f"{letter(data.slots[index])}  {run.name}", fact, text), 1)

    def _build(self) -> None:
        self._settings, self._results = Card(tr("Settings"), " "), Card(tr("Results"), " ")
        self._settings.add_to_header(self.differences)
        self._results.add_to_header(Text(tr("▲ better"), size=12, tone="good"))
        self._results.add_to_header(Text(tr("▽ worse"), size=12, tone="bad"))
        self._alike = Text(tr("These runs have the same settings."), size=12, tone="tx3")
        self._alike.setContentsMargins(12, 8, 12, 8)
        self._settings.body.addWidget(self._alike)
        for card in (self._settings, self._results):
            card.body.setContentsMargins(0, 0, 0, 4)
        self.unlike = BadgeLabel("")
        self.unlike_text = Text("", size=12, tone="tx2", elide=True)
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 4, 12, 4)
        foot.addWidget(self.unlike)
        foot.addWidget(self.unlike_text, 1)
        self._results_foot = foot
        self._results.body.addLayout(foot)
        self._chart_place = QVBoxLayout()
        above = QHBoxLayout()
        above.setSpacing(12)
        above.addLayout(self._chart_place, 38)
        above.addWidget(self._settings, 40)
        above.addWidget(self._results, 50)
        self._answers_card = Card(tr("Samples"), tr("newest answer of each run"))
        self._answers_card.header.insertWidget(1, self.prompt)
        self.prompt.setMinimumWidth(320)
        self._answers = QHBoxLayout()
        self._answers.setSpacing(12)
        self._answers_card.body.addLayout(self._answers)
        inside = ScrollPage()
        self._above, self._inside, self._page = above, inside, inside.area
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addLayout(above, 1)
        column.addWidget(self._answers_card)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.hint)
        self._stack.addWidget(self._page)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._stack)
        self.clear()


def _settings(data: Compared) -> tuple[object, ...]:
    return data.comparison.settings


def _replace(card: Card, view: DataTable) -> None:
    """Put a new table in the place of the old one, above what stands below it, scrolled to where that one was."""
    for index in range(card.body.count()):
        item = card.body.itemAt(index)
        old = item.widget() if item is not None else None
        if isinstance(old, DataTable):
            QTimer.singleShot(0, view, partial(view.verticalScrollBar().setValue, old.verticalScrollBar().value()))
            card.body.removeWidget(old)
            old.hide()
            old.deleteLater()
            break
    card.body.insertWidget(0, view, 1)


def _answer(title: str, fact: str, text: str) -> Card:
    card = Card(surface="well")
    head = QHBoxLayout()
    head.addWidget(Text(title, size=12, weight=600, elide=True), 1)
    head.addWidget(Text(fact, size=12, tone="tx3"))
    body = Text(text, size=12, wrap=True)
    body.setAlignment(Qt.AlignmentFlag.AlignTop)
    scroll = QScrollArea()
    scroll.setWidgetResizable(True)
    scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    scroll.setAccessibleName(tr("Answer of {run}", run=title))
    scroll.setFixedHeight(58)
    body.setProperty("scrolled", True)
    scroll.setWidget(body)
    card.body.setSpacing(4)
    card.body.addLayout(head)
    card.body.addWidget(scroll)
    return card


def names_of(slots: Sequence[int]) -> str:
    """ "A, B, C"."""
    return ", ".join(letter(slot) for slot in sorted(slots))
