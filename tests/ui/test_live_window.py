"""The window over a run that trains: closed, opened again, and with the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.recipes import DatasetRef, ModelRef, Recipe
from tests.helpers.studio_window import Bench, bench_over, written
from tests.helpers.tiny_models import write_tiny_llama
from tests.helpers.tiny_runs import write_rows
from ui.appearance import Appearance
from ui.shell.closing import stop_all
from ui.shell.main_window import MainWindow
from ui.views.live import LiveView


@pytest.fixture
def bench(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[Bench]:
    with bench_over(qtbot, appearance, tmp_path / "home") as made:
        yield made


def live(window: MainWindow) -> LiveView:
    view = window.pages.view("live")
    assert isinstance(view, LiveView)
    return view


def training(bench: Bench, window: MainWindow) -> str:
    bench.options(steps=2000, step_seconds=0.02)
    run = bench.launch(window, name="helpdesk")
    bench.until(lambda: run in window.status_watch.active and bench.studio(window).store.run(run).step >= 3)
    return run


@pytest.mark.scenario("S1")
@pytest.mark.scenario("S7")
def test_kept_in_the_background_and_whole_when_the_window_opens_again(bench: Bench) -> None:
    first = bench.window()
    run = training(bench, first)
    buttons = bench.close(first, "Keep training in the background")
    assert buttons == ["Keep training in the background", "Stop & save", "Cancel"]
    assert not first.isVisible()
    second = bench.window()
    view = live(second)
    bench.until(lambda: view.snapshot is not None and view.snapshot.row.status == "training")
    assert view.run_id == run, "the newest active run is shown by itself"
    before = view.snapshot.row.step if view.snapshot else 0
    bench.until(lambda: view.snapshot is not None and view.snapshot.row.step > before + 5)
    x, y = view.page.charts.loss.plotted("loss")
    assert list(zip(x, y, strict=True)) == written(bench.root, run, "StepCompleted", "loss")[: len(x)]
    assert list(x) == list(range(1, len(x) + 1)), "no step is missing from the time without a window"


@pytest.mark.scenario("S7")
def test_stop_and_save_ends_the_run_with_a_checkpoint(bench: Bench) -> None:
    window = bench.window()
    run = training(bench, window)
    bench.close(window, "Stop & save")
    assert not window.isVisible()
    again = bench.window()
    bench.status(again, run, "stopped")
    assert bench.studio(again).store.run(run).checkpoint_step is not None


@pytest.mark.scenario("S7")
def test_cancel_leaves_everything_as_it_is(bench: Bench) -> None:
    window = bench.window()
    run = training(bench, window)
    bench.close(window, "Cancel")
    assert window.isVisible()
    step = bench.studio(window).store.run(run).step
    bench.until(lambda: bench.studio(window).store.run(run).step > step)


def test_stop_and_save_ends_a_run_that_has_not_begun_and_spares_one_that_is_over(bench: Bench) -> None:
    window = bench.window()
    bench.options(steps=1)
    over = bench.launch(window)
    bench.status(window, over, "finished")
    bench.options(late_seconds=60)
    late = bench.launch(window, token="late")
    runs = bench.studio(window).runs
    assert runs.is_alive(late)
    stop_all(runs, [over, late])
    assert not runs.is_alive(late)
    assert bench.studio(window).store.run(over).status == "finished"


def test_the_real_engine_is_drawn_as_it_wrote(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> None:
    model, rows = write_tiny_llama(tmp_path / "model"), write_rows(tmp_path / "rows.jsonl")
    recipe = Recipe(
        model=ModelRef("folder", path=str(model)), datasets=(DatasetRef(str(rows)),), sequence_length=48,
        gradient_accumulation_steps=1, learning_rate=1e-2, maximum_steps=8, epochs=3.0, threads=1, evaluate_every=4,
        checkpoint_every=4, sample_prompts=("What is 3?",), sample_tokens=4,
    )  # fmt: skip
    with bench_over(qtbot, appearance, tmp_path / "home", engine=None) as bench:
        window = bench.window()
        studio = bench.studio(window)
        planned = studio.planning.full(recipe)
        assert planned.plan is not None, planned.problems
        run = studio.runs.launch(planned.recipe, planned.plan, token="once", name="tiny")
        view = live(window)
        bench.until(lambda: view.snapshot is not None and view.snapshot.row.status == "finished", 120)
        charts, page = view.page.charts, view.page
        for card, key, event in (
            (charts.loss, "loss", "StepCompleted"),
            (charts.loss, "evaluation_loss", "EvaluationCompleted"),
            (charts.small["learning_rate"], "learning_rate", "StepCompleted"),
            (charts.small["grad_norm"], "grad_norm", "StepCompleted"),
            (charts.small["tokens_per_second"], "tokens_per_second", "StepCompleted"),
        ):
            x, y = card.plotted(key)
            assert list(zip(x, y, strict=True)) == written(bench.root, run, event, key), key
        planned_bytes = sum(row.host_bytes + row.device_bytes for row in planned.plan.memory)
        assert page.memory.bars["plan"].used == planned_bytes and page.memory.bars["measured"].used > 0
        assert page.samples.prompt.text() == "What is 3?"
