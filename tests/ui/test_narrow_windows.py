"""Below 1440 px the window gives way instead of cutting: cards stack and scroll, tables show fewer columns. And F1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip, QWidget
from pytestqt.qtbot import QtBot

from tests.helpers.qt_walk import find
from tests.helpers.studio_window import Bench, bench_over
from tests.helpers.written_runs import write_run
from ui.appearance import Appearance
from ui.shell.explain import explanation_of
from ui.viewmodels import run_table as columns
from ui.views.live import LiveView
from ui.views.runs import RunsView
from ui.widgets.card import KeyFigure
from ui.widgets.table import DataTable


@pytest.fixture
def bench(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[Bench]:
    with bench_over(qtbot, appearance, tmp_path / "home") as made:
        for number in (1, 2):
            write_run(made.root, number, f"a-run-with-a-long-name-{number}", losses=(2.0, 1.5, 1.0))
        yield made


def top_of(widget: QWidget, root: QWidget) -> int:
    return widget.mapTo(root, QPoint(0, 0)).y()


def test_runs_keep_their_names_and_a_comparison_its_cards(bench: Bench) -> None:
    window = bench.window("runs")
    view = window.pages.view("runs")
    assert isinstance(view, RunsView)
    bench.until(lambda: view.model.rowCount() == 2)
    assert view.compare.height() <= 40, "nothing is ticked: the table has the room"
    for row in range(2):
        view.table.tick(row)
    bench.until(lambda: view.compare.data is not None)
    chart = view.compare.chart
    assert chart is not None and top_of(chart, view) == top_of(view.compare._settings, view)
    assert not view.table.isColumnHidden(columns.TAGS)
    window.resize(1024, 600)
    bench.until(lambda: view.table.isColumnHidden(columns.TAGS))
    assert window.width() == 1024 and view.table.columnWidth(columns.NAME) >= 170
    bench.until(lambda: top_of(view.compare._settings, view) >= top_of(chart, view) + chart.height())
    assert view.compare._settings.width() > 600
    window.resize(1440, 900)
    bench.until(lambda: not view.table.isColumnHidden(columns.TAGS))


def test_live_stacks_and_scrolls(bench: Bench) -> None:
    window = bench.window("live")
    view = window.pages.view("live")
    assert isinstance(view, LiveView)
    bench.until(lambda: view.snapshot is not None)
    page = view.page
    bench.until(lambda: top_of(page.memory, page) == top_of(page.charts, page))
    window.resize(1024, 600)
    bench.until(lambda: top_of(page.memory, page) >= top_of(page.charts, page) + page.charts.height())
    for card in (*page.charts.cards.values(), page.memory):
        assert card.height() >= card.minimumSizeHint().height()
        assert card.title.width() >= card.title.sizeHint().width(), card.title.text()


def test_f1_explains_what_has_the_focus(bench: Bench) -> None:
    window = bench.window("runs")
    view = window.pages.view("runs")
    assert isinstance(view, RunsView)
    bench.until(lambda: view.model.rowCount() == 2)
    table = find(view, DataTable, "Runs")
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_F1)
    bench.until(lambda: QToolTip.text() == explanation_of(table) != "")
    QToolTip.hideText()


def test_a_figure_explains_itself_by_hover_and_by_key(qtbot: QtBot, appearance: Appearance) -> None:
    figure = KeyFigure("Speed")
    qtbot.addWidget(figure)
    assert figure.focusPolicy() == Qt.FocusPolicy.NoFocus
    figure.explain("Real tokens a second.")
    assert figure.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert figure.toolTip() == explanation_of(figure) == "Real tokens a second."
