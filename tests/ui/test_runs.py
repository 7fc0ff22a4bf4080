"""Runs: found, changed, deleted and compared by mouse and keys, over real run folders."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from studio.home import open_home
from studio.runs.user_file import read_user
from tests.helpers.qt_walk import assert_walkable, find
from tests.helpers.studio_window import Bench, bench_over
from tests.helpers.written_runs import write_run
from ui.appearance import Appearance
from ui.shell.main_window import MainWindow
from ui.viewmodels import run_table as columns
from ui.views.runs import RunsView
from ui.widgets.dialog import ConfirmDialog
from ui.widgets.empty_state import EmptyState
from ui.widgets.table import DataTable


@pytest.fixture
def bench(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[Bench]:
    with bench_over(qtbot, appearance, tmp_path / "home") as made:
        yield made


def opened(bench: Bench, window: MainWindow, count: int) -> RunsView:
    view = window.pages.view("runs")
    assert isinstance(view, RunsView)
    bench.until(lambda: view.model.rowCount() == count)
    window.activateWindow()
    QTest.qWaitForWindowActive(window)
    return view


def names(view: RunsView) -> list[str]:
    return [str(view.model.index(row, columns.NAME).data()) for row in range(view.model.rowCount())]


def test_no_runs_yet(bench: Bench) -> None:
    window = bench.window("runs")
    view = window.pages.view("runs")
    bench.until(lambda: any(state.isVisible() for state in view.findChildren(EmptyState)))
    assert next(s for s in view.findChildren(EmptyState) if s.isVisible()).title.text() == "No runs yet"
    find(view, QPushButton, "New run")


def test_found_by_text_and_state_and_sorted(bench: Bench) -> None:
    for number, name in enumerate(("helpdesk one", "helpdesk two", "poems")):
        write_run(bench.root, number, name, losses=(3.0, 1.0 + number), tags=("verse",) if name == "poems" else ())
    window = bench.window("runs")
    view = opened(bench, window, 3)
    assert names(view) == ["poems", "helpdesk two", "helpdesk one"], "newest first"
    assert_walkable(view)
    QTest.keyClick(view.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert view.search.hasFocus()
    QTest.keyClicks(view.search, "help")
    bench.until(lambda: view.model.rowCount() == 2)
    assert view.count.text() == "2 of 3 runs"
    view.search.setText("verse")
    bench.until(lambda: names(view) == ["poems"])
    view.search.setText("nothing like it")
    bench.until(view.no_match.isVisible)
    find(view, QPushButton, "Clear the filters").click()
    bench.until(lambda: view.model.rowCount() == 3)
    next(a for a in view.state.choices_menu.actions() if a.text() == "failed or lost").trigger()
    bench.until(lambda: view.model.rowCount() == 0)
    view.state.choices_menu.actions()[0].trigger()
    bench.until(lambda: view.model.rowCount() == 3)
    header = view.table.horizontalHeader()
    at = header.sectionPosition(columns.EVALUATION) + 20
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(at, 8))
    bench.until(lambda: view.model.query.sort != "created_utc" and window.context.tasks.idle)
    assert names(view) == ["poems", "helpdesk two", "helpdesk one"]
    assert view.model.query.sort == "best_evaluation_loss" and view.model.query.descending


def test_renamed_tagged_and_archived_in_place_by_keys(bench: Bench) -> None:
    run = write_run(bench.root, 1, "before")
    other = write_run(bench.root, 2, "after")
    window = bench.window("runs")
    view = opened(bench, window, 2)
    view.table.setCurrentIndex(view.model.index(1, columns.NAME))
    view.table.setFocus()
    QTest.keyClick(view.table, Qt.Key.Key_F2)
    editor = find(view, QLineEdit, "Name of the run")
    editor.selectAll()
    QTest.keyClicks(editor, "after")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    bench.until(lambda: names(view) == ["after", "after"])
    assert read_user(open_home(bench.root).run(run)).name == "after"
    assert len(list(open_home(bench.root).runs.iterdir())) == 2, "the same name twice overwrites nothing"
    menu = view.run_menu()
    assert menu is not None
    next(action for action in menu.actions() if action.text() == "Edit tags").trigger()
    editor = find(view, QLineEdit, "Tags, separated by commas")
    QTest.keyClicks(editor, "fast, best")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    bench.until(lambda: bench.studio(window).store.run(run).tags == ("best", "fast"))
    menu = view.run_menu()
    assert menu is not None
    next(action for action in menu.actions() if action.text() == "Archive").trigger()
    bench.until(lambda: view.model.rowCount() == 1)
    view.archived.click()
    bench.until(lambda: view.model.rowCount() == 2)
    assert bench.studio(window).store.run(other).archived is False


def test_deleting_shows_what_goes_and_keeps_by_default(bench: Bench) -> None:
    run = write_run(bench.root, 1, "doomed")
    write_run(bench.root, 2, "other")
    window = bench.window("runs")
    view = opened(bench, window, 2)
    view.table.setCurrentIndex(view.model.index(1, columns.NAME))
    view.table.setFocus()
    for answer, left in (("Keep", 2), ("Delete for good", 1)):
        QTest.keyClick(view.table, Qt.Key.Key_Delete)
        dialog = _dialog(bench)
        assert "doomed" in dialog.accessibleDescription() and "kB" in dialog.accessibleDescription()
        find(dialog, QPushButton, answer).click()
        bench.until(lambda left=left: view.model.rowCount() == left)  # type: ignore[misc]  # bound in the loop on purpose
    assert not (bench.root / "runs" / run).exists() and names(view) == ["other"]


def _dialog(bench: Bench) -> ConfirmDialog:
    found: list[ConfirmDialog] = []

    def there() -> bool:
        found[:] = [w for w in QApplication.topLevelWidgets() if isinstance(w, ConfirmDialog) and w.isVisible()]
        return bool(found)

    bench.until(there)
    return found[0]


def test_cloned_into_new_run_and_opened_in_live(bench: Bench) -> None:
    write_run(bench.root, 1, "source", learning_rate=7e-5)
    window = bench.window("runs")
    view = opened(bench, window, 1)
    gone: list[tuple[str, dict[str, object]]] = []
    window.navigate = lambda route, **arguments: gone.append((route, arguments))  # type: ignore[method-assign]  # other screens have tests of their own
    object.__setattr__(window.context, "navigate", window.navigate)
    menu = view.run_menu()
    assert menu is not None
    next(action for action in menu.actions() if action.text() == "Clone to New run").trigger()
    bench.until(lambda: bool(gone))
    assert gone[0][0] == "new" and window.context.services.document.recipe.learning_rate == 7e-5
    view.table.setFocus()
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert gone[1][0] == "live"


def test_two_runs_compared_by_space(bench: Bench) -> None:
    write_run(bench.root, 1, "first", losses=(2.0, 1.5, 1.0))
    write_run(bench.root, 2, "second", losses=(2.0, 1.2, 0.8), lora_rank=8)
    write_run(bench.root, 3, "third", losses=(2.0, 1.9), model="another")
    window = bench.window("runs")
    view = opened(bench, window, 3)
    view.table.setFocus()
    for row in (2, 1):
        view.table.setCurrentIndex(view.model.index(row, columns.NAME))
        QTest.keyClick(view.table, Qt.Key.Key_Space)
    bench.until(lambda: view.compare.data is not None)
    assert list(view.crumbs()) == ["Runs", "Compare A, B"]
    chart = view.compare.chart
    assert chart is not None
    assert list(chart.plotted("A")[1]) == [1.0] and list(chart.plotted("B")[1]) == [0.8]
    results = _cells(bench, view, "Results compared", 2)
    loss = next(row for row in results if row[0] == "Best evaluation loss")
    assert loss == ["Best evaluation loss", "1.000", "▲ −0.200"]
    settings = _cells(bench, view, "Settings compared", 2)
    assert ["LoRA rank", "16", "8"] in settings and all("same as A" not in row for row in settings)
    before = len(settings)
    QTest.keyClick(view.table, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert not find(view, QCheckBox, "Differences only").isChecked()
    bench.until(lambda: len(_cells(bench, view, "Settings compared", 2)) > before)
    assert not view.compare.unlike.isVisible()
    rect = view.table.visualRect(view.model.index(0, columns.TICK))
    QTest.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    bench.until(lambda: view.compare.data is not None and len(view.compare.data.runs) == 3)
    loss = next(row for row in _cells(bench, view, "Results compared", 3) if row[0] == "Best evaluation loss")
    assert loss[3] == "+0.900 ≠", "another base model: not judged"
    assert view.compare.unlike.isVisible() and "other base model" in view.compare.unlike_text.text()
    answers = [area.accessibleName() for area in view.compare.findChildren(QScrollArea) if area.isVisible()]
    assert "Answer of A  first" in answers and len([name for name in answers if name.startswith("Answer")]) == 3
    assert_walkable(view)


def _cells(bench: Bench, view: RunsView, name: str, width: int) -> list[list[str]]:
    """The texts of a comparison's table, once it is there for this many runs."""
    found: list[DataTable] = []

    def there() -> bool:
        tables = [table for table in view.compare.findChildren(DataTable) if table.isVisible()]
        found[:] = [t for t in tables if t.accessibleName() == name and t.model().columnCount() == width + 1]
        return bool(found)

    bench.until(there)
    model = found[-1].model()
    return [
        [str(model.index(row, column).data()) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def test_a_ninth_tick_is_refused(bench: Bench) -> None:
    for number in range(9):
        write_run(bench.root, number, f"run {number}")
    window = bench.window("runs")
    view = opened(bench, window, 9)
    for row in range(9):
        view.table.tick(row)
    assert len(view.model.ticked) == 8 and window.toasts.history[-1].title == "Eight runs are ticked"
    view.table.tick(3)
    view.table.tick(8)
    assert sorted(view.model.ticked.values()) == list(range(1, 9)), "the free slot is taken, the others keep theirs"


@pytest.mark.scenario("S12")
def test_five_hundred_runs_open_in_under_a_second_and_are_paged(bench: Bench) -> None:
    for number in range(500):
        write_run(bench.root, number, f"run {number}")
    first = bench.window("runs")
    opened(bench, first, 500)
    bench.close(first)
    second = bench.window("live")
    bench.until(lambda: second.context.tasks.idle)
    began = time.perf_counter()
    second.navigate("runs")
    view = second.pages.view("runs")
    assert isinstance(view, RunsView)
    bench.until(lambda: view.model.rowCount() == 500)
    assert time.perf_counter() - began < 1.0
    assert view.model.run_at(0) is not None and view.model.run_at(450) is None, "only what is looked at is read"
    view.table.scrollToBottom()
    bench.until(lambda: view.model.run_at(499) is not None)
    assert view.model.index(499, columns.NAME).data() == "run 0"
