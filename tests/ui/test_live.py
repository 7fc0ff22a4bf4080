"""Live: what is drawn is what the engine wrote, in every state that a run can be in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from tests.helpers.qt_walk import assert_walkable, find
from tests.helpers.studio_window import Bench, bench_over, written
from ui.appearance import Appearance
from ui.shell.main_window import MainWindow
from ui.views.live import LiveView
from ui.widgets.empty_state import EmptyState
from ui.widgets.table import DataTable
from ui.widgets.text import Text


@pytest.fixture
def bench(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[Bench]:
    with bench_over(qtbot, appearance, tmp_path / "home") as made:
        yield made


def live(window: MainWindow) -> LiveView:
    view = window.pages.view("live")
    assert isinstance(view, LiveView)
    return view


def shown(bench: Bench, window: MainWindow, *statuses: str) -> LiveView:
    """Live, once it shows a run in one of these states."""
    view = live(window)
    bench.until(lambda: view.snapshot is not None and view.snapshot.row.status in statuses)
    return view


def test_no_run_yet(bench: Bench) -> None:
    window = bench.window()
    view = live(window)
    bench.until(lambda: window.context.tasks.idle)
    assert next(state for state in view.findChildren(EmptyState) if state.isVisible()).title.text() == "No run yet"
    assert_walkable(view)
    find(view, QPushButton, "New run")


@pytest.mark.scenario("S11")
def test_three_steps_are_three_points_and_a_missing_metric_hides_no_chart(bench: Bench) -> None:
    bench.options(steps=3)
    window = bench.window()
    run = bench.launch(window)
    view = shown(bench, window, "finished")
    charts = view.page.charts
    x, y = charts.loss.plotted("loss")
    assert list(zip(x, y, strict=True)) == written(bench.root, run, "StepCompleted", "loss")
    assert list(charts.loss.plotted("loss")[0]) == [1, 2, 3]
    assert not charts.loss.plotted("evaluation_loss")[0].size, "this run has no evaluation"
    assert [card.state for card in charts.cards.values()] == ["live"] * 4
    for key in ("learning_rate", "grad_norm", "tokens_per_second"):
        assert list(charts.cards[key].plotted(key)[1]) == [v for _, v in written(bench.root, run, "StepCompleted", key)]
    find(view, QPushButton, "Compare")
    assert not view.page.outcome.export.isVisible(), "no checkpoint, nothing to export"
    assert view.page.header.step.text() == "Step 3 of 3"
    assert_walkable(view)


def test_everything_of_a_run_is_drawn_and_can_be_looked_through(bench: Bench) -> None:
    bench.options(steps=12, evaluate_every=4, measure=1, checkpoint_every=6)
    window = bench.window()
    run = bench.launch(window, name="helpdesk")
    view = shown(bench, window, "finished")
    page = view.page
    find(view, QPushButton, "Export")
    x, y = page.charts.loss.plotted("evaluation_loss")
    assert list(zip(x, y, strict=True)) == written(bench.root, run, "EvaluationCompleted", "evaluation_loss")
    find(view, QToolButton, "Horizontal axis: Tokens").click()
    assert list(page.charts.loss.plotted("loss")[0]) == [100.0 * step for step in range(1, 13)]
    find(view, QToolButton, "Horizontal axis: Time").click()
    seconds = [value for _, value in written(bench.root, run, "StepCompleted", "elapsed_seconds")]
    assert list(page.charts.small["grad_norm"].plotted("grad_norm")[0]) == pytest.approx(seconds)
    find(view, QToolButton, "Horizontal axis: Step").click()
    low, high = page.charts.loss.plot.getPlotItem().vb.viewRange()[0]
    others = [card.plot.getPlotItem().vb.viewRange()[0] for card in page.charts.small.values()]
    assert all(pytest.approx([low, high]) == other for other in others), "one x for all charts"
    page.charts.small["grad_norm"].plot.getPlotItem().vb.setXRange(3, 6, padding=0)
    assert page.charts.loss.plot.getPlotItem().vb.viewRange()[0] == pytest.approx([3, 6])
    assert page.samples.answer.text() == "Because 12." and page.samples.place.text() == "3 of 3"
    find(view, QPushButton, "Previous sample").click()
    assert page.samples.answer.text() == "Because 8."
    assert page.memory.bars["measured"].used == 1000 and page.memory.bars["plan"].used == 1024
    titles = [words.title for words in page.events.shown]
    assert titles[0] == "Finished" and titles.count("Checkpoint saved") == 2 and titles.count("Evaluation") == 3
    assert [words.title for words in page.charts.lane.shown] == titles[::-1], "lane and list are the same events"
    assert list(view.crumbs()) == ["Live", "helpdesk"]


def test_log_follows_filters_and_opens_by_key(bench: Bench) -> None:
    bench.options(steps=6, evaluate_every=3)
    window = bench.window()
    bench.launch(window)
    view = shown(bench, window, "finished")
    log = view.page.log
    bench.until(lambda: any("Finished" in line for line in log.shown_lines()))
    assert any("fake engine begins" in line for line in log.shown_lines()), "the engine's own output too"
    find(view, QToolButton, "Log lines: Steps").click()
    assert len(log.shown_lines()) == 6 and "step 6" in log.shown_lines()[-1]
    log.search.setText("step 2 ")
    assert len(log.shown_lines()) == 1
    window.activateWindow()
    QTest.qWaitForWindowActive(window)
    view.page.header.switcher.setFocus()
    QTest.keyClick(view.page.header.switcher, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert not log.isVisible()
    QTest.keyClick(view.page.header.switcher, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert log.isVisible()


@pytest.mark.scenario("S10")
def test_a_loss_that_is_not_finite_is_seen_and_charts_go_on(bench: Bench) -> None:
    bench.options(steps=200, step_seconds=0.03, nan_at=7)
    window = bench.window()
    bench.launch(window)
    view = live(window)
    bench.until(lambda: view.snapshot is not None and view.snapshot.row.step >= 10)
    page = view.page
    assert page.charts.marks["loss"].steps == (7,) and page.charts.marks["grad_norm"].steps == (7,)
    assert page.header.alarm.isVisible() and "not finite" in page.header.alarm.text()
    x, y = page.charts.loss.plotted("loss")
    assert math.isnan(y[list(x).index(7)]) and y[-1] == pytest.approx(1 / x[-1]), "a gap, then on"
    assert any(words.title == "Loss not finite" and words.step == 7 for words in page.events.shown)


@pytest.mark.scenario("S10")
def test_no_stale_number_stays_where_the_last_loss_is_not_finite(bench: Bench) -> None:
    bench.options(steps=8, nan_at=7, step_seconds=0.0)
    window = bench.window()
    bench.launch(window)
    view = shown(bench, window, "finished")
    bench.options(steps=40, nan_at=5, step_seconds=0.4)
    run = bench.launch(window, token="second")
    view.show_run(run)
    bench.until(lambda: view.snapshot is not None and view.snapshot.row.id == run and view.snapshot.row.step >= 5)
    bench.until(lambda: view.page.charts.loss._value.text() == "not a number")
    assert view.page.header.alarm.text() == "Loss not finite"


def test_phases_before_the_first_step_and_cancel(bench: Bench) -> None:
    bench.options(steps=5, phase_seconds=60)
    window = bench.window()
    run = bench.launch(window)
    view = shown(bench, window, "preparing")
    bench.until(lambda: "0.001 kB" in _words(view) or "1 bytes of 4 bytes" in _words(view))
    assert not view.page.charts.loss.isVisible(), "no chart, so no zeros"
    assert "about 9 s" in _words(view)
    assert_walkable(view)
    find(view, QPushButton, "Cancel").click()
    bench.status(window, run, "stopped")
    shown(bench, window, "stopped")


def _words(view: LiveView) -> str:
    return " | ".join(label.text() for label in view.findChildren(Text) if label.isVisible())


def test_pause_resume_checkpoint_and_what_is_asked_until_the_engine_answers(bench: Bench) -> None:
    bench.options(steps=1000, step_seconds=0.05)
    window = bench.window()
    run = bench.launch(window)
    view = shown(bench, window, "training")
    find(view, QPushButton, "Pause").click()
    shown(bench, window, "paused")
    assert not view.page.header.asked.isVisible(), "answered"
    assert view.page.charts.loss.state == "paused"
    find(view, QPushButton, "Checkpoint now").click()
    bench.until(lambda: bool(view.snapshot and view.snapshot.checkpoints))
    find(view, QPushButton, "Resume").click()
    shown(bench, window, "training")
    assert bench.studio(window).store.run(run).checkpoint_step is not None


def test_asked_shows_while_an_engine_does_not_answer(bench: Bench) -> None:
    bench.options(steps=1000, step_seconds=0.05, deaf=1)
    window = bench.window()
    bench.launch(window)
    view = shown(bench, window, "training")
    find(view, QPushButton, "Pause").click()
    bench.until(view.page.header.asked.isVisible)
    assert view.page.header.asked.text() == "Pause: asked" and not view.page.header.pause.isEnabled()


@pytest.mark.scenario("S3")
def test_stop_asks_saves_and_a_second_stop_is_harmless(bench: Bench) -> None:
    bench.options(steps=1000, step_seconds=0.05)
    window = bench.window()
    run = bench.launch(window)
    view = shown(bench, window, "training")
    view.actions_of_run.stop(run, "x")
    dialog = _dialog(bench)
    assert find(dialog, QPushButton, "Keep training").isDefault()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    find(view, QPushButton, "Stop & save").click()
    find(_dialog(bench), QPushButton, "Stop & save").click()
    view.actions_of_run.stop(run, "x")  # again, whether it has stopped meanwhile or not
    find(_dialog(bench), QPushButton, "Stop & save").click()
    shown(bench, window, "stopped")
    assert bench.studio(window).store.run(run).checkpoint_step is not None
    find(view, QPushButton, "Resume").click()
    shown(bench, window, "training", "finished")
    assert bench.studio(window).store.run(run).attempt == 2


def _dialog(bench: Bench) -> QDialog:
    found: list[QDialog] = []

    def there() -> bool:
        found[:] = [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]
        return bool(found)

    bench.until(there)
    return found[0]


@pytest.mark.scenario("S4")
def test_a_killed_engine_is_lost_says_so_and_resumes(bench: Bench) -> None:
    bench.options(steps=8, checkpoint_every=3, kill_at=5)
    window = bench.window()
    run = bench.launch(window)
    view = shown(bench, window, "lost")
    error = view.page.outcome.error
    assert "SIGKILL" in error.title_text.text() and "step 5" in error.title_text.text()
    assert "fake engine begins" in error.detail.text(), "the last log lines"
    assert "Checkpoint step 3 is safe; 2 steps will be done again." in error.detail.text()
    assert_walkable(view)
    bench.options(steps=8)
    find(view, QPushButton, "Resume from step 3").click()
    shown(bench, window, "finished")
    assert list(view.page.charts.loss.plotted("loss")[0]) == list(range(1, 9)), "no step twice, none missing"
    assert bench.studio(window).store.run(run).attempt == 2


@pytest.mark.scenario("S8")
def test_an_engine_that_never_spoke_is_told_by_its_last_line_and_the_form_is_intact(bench: Bench) -> None:
    bench.options(exit_before_events=1)
    window = bench.window()
    window.context.services.document.set("learning_rate", 3e-4)
    form = window.context.services.document.recipe
    bench.launch(window)
    view = shown(bench, window, "lost", "failed")
    assert "ImportError: the moon is in the wrong phase" in view.page.outcome.error.title_text.text()
    assert window.context.services.document.recipe == form
    assert not [b for b in view.findChildren(QPushButton) if b.isVisible() and b.text().startswith("Resume")]


@pytest.mark.scenario("S5")
def test_the_page_shows_the_recipe_that_was_launched_not_the_form(bench: Bench) -> None:
    bench.options(steps=500, step_seconds=0.05)
    window = bench.window()
    bench.launch(window, learning_rate=2e-4, lora_rank=8)
    view = shown(bench, window, "training")
    window.context.services.document.set("learning_rate", 9e-3)
    find(view, QToolButton, "Events or settings: Settings").click()
    model = find(view, DataTable, "Settings of the run").model()
    told = {model.index(row, 0).data(): model.index(row, 1).data() for row in range(model.rowCount())}
    assert (told["Learning rate"], told["LoRA rank"]) == ("2e-4", "8")


def test_switcher_and_two_runs_of_one_name(bench: Bench) -> None:
    bench.options(steps=2)
    window = bench.window()
    first = bench.launch(window, name="same")
    bench.status(window, first, "finished")
    bench.options(steps=4)
    second = bench.launch(window, token="second", name="same")
    bench.status(window, second, "finished")
    assert len(list((bench.root / "runs").iterdir())) == 2
    view = live(window)
    bench.until(lambda: view.snapshot is not None and len(view.snapshot.recent) == 2)
    other = first if view.run_id == second else second
    menu = view.page.header.switcher_menu()
    next(a for a, row in zip(menu.actions(), view.snapshot.recent, strict=True) if row.id == other).trigger()  # type: ignore[union-attr]  # waited for above
    bench.until(lambda: view.snapshot is not None and view.snapshot.row.id == other)
    count = 2 if other == first else 4
    assert len(view.page.charts.loss.plotted("loss")[0]) == count, "nothing of the other run stays"
