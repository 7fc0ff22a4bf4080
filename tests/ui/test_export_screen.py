"""Export as a person uses it: pick a checkpoint, tick formats, export with the real engine, cancel, and be told."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.helpers.qt_walk import assert_walkable, find
from tests.helpers.sessions import finish, open_quiet_studio, small_session_recipe
from tests.helpers.studio_window import FAKE_ENGINE, Bench, bench_over
from ui.appearance import Appearance
from ui.shell.main_window import MainWindow
from ui.views.export.timeline import CheckpointTimeline
from ui.views.export.view import ExportView
from ui.widgets.text import Text
from ui.widgets.toggle import CheckBox

SLOW = """
import json, sys, time
from pathlib import Path
out = Path(sys.argv[sys.argv.index("--out") + 1])
part = out.with_name(f".{out.name}.abcd1234.tmp")
part.mkdir(parents=True)
(part / "half").write_text("half")
base = {"sequence": 1, "attempt": 0, "step": 3, "time_utc": "2026-12-01T00:00:00Z", "elapsed_seconds": 0.0}
for event in ({"event": "PhaseStarted", "phase": "writing"},
              {"event": "PhaseProgressed", "phase": "writing", "done": 61, "total": 100, "unit": "bytes"}):
    print(json.dumps({**base, **event}), flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with a finished LoRA run of the real engine, and the run's id."""
    root = tmp_path_factory.mktemp("trained")
    studio = open_quiet_studio(root / "home")
    try:
        return root / "home", finish(studio, small_session_recipe(root), name="questions")
    finally:
        studio.close()


@pytest.fixture
def bench(qtbot: QtBot, appearance: Appearance, trained: tuple[Path, str]) -> Iterator[Bench]:
    with bench_over(qtbot, appearance, trained[0], engine=None) as made:
        yield made


@pytest.fixture
def slow_bench(qtbot: QtBot, appearance: Appearance, trained: tuple[Path, str]) -> Iterator[Bench]:
    with bench_over(qtbot, appearance, trained[0], engine=(sys.executable, "-c", SLOW)) as made:
        yield made


def shown(bench: Bench, window: MainWindow) -> ExportView:
    view = window.pages.current_view()
    assert isinstance(view, ExportView)
    bench.until(lambda: view.prediction is not None)
    return view


def says(root: QWidget, text: str) -> bool:
    return any(text in label.text() for label in root.findChildren(Text) if label.isVisible())


def test_no_checkpoints_is_said_with_a_way_on(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> None:
    with bench_over(qtbot, appearance, tmp_path / "home", FAKE_ENGINE) as bench:
        window = bench.window("export")
        view = window.pages.current_view()
        assert isinstance(view, ExportView)
        bench.until(lambda: says(view, "No checkpoints yet"))
        assert_walkable(view)
        find(view, QPushButton, "Go to Live").click()
        assert window.pages.route == "live"


def test_checkpoints_by_mouse_and_keys(bench: Bench, trained: tuple[Path, str]) -> None:
    window = bench.window("export", run=trained[1])
    view = shown(bench, window)
    timeline = find(view, CheckpointTimeline, "Checkpoints")
    assert view.facts is not None
    kept, gone = [m.step for m in timeline.marks if m.kept], [m for m in timeline.marks if not m.kept]
    best = min((row for row in view.facts.standing), key=lambda row: row.evaluation_loss or 9e9)
    assert timeline.step == best.step and "best" in timeline.accessibleDescription()
    assert gone, "the keeping rule has let some go, and they stay on the line"
    first = next(mark for mark in timeline.marks if mark.step == kept[0])
    QTest.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=timeline.centre(gone[0]).toPoint())
    assert timeline.step == best.step, "what is gone cannot be picked"
    QTest.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=timeline.centre(first).toPoint())
    assert timeline.step == kept[0]
    timeline.setFocus()
    QTest.keyClick(timeline, Qt.Key.Key_Right)
    assert timeline.step == kept[1]
    QTest.keyClick(view, Qt.Key.Key_PageUp, Qt.KeyboardModifier.ControlModifier)
    assert timeline.step == kept[0]
    bench.until(lambda: window.context.tasks.idle)
    assert str(kept[0]) in view.footer.what.text()
    assert_walkable(view)


@pytest.mark.scenario("S32")
def test_a_real_export_turns_green(bench: Bench, trained: tuple[Path, str]) -> None:
    window = bench.window("export", run=trained[1])
    view = shown(bench, window)
    assert not view.footer.export.isEnabled(), "nothing is ticked"
    QTest.mouseClick(find(view, CheckBox, "LoRA adapter (PEFT)"), Qt.MouseButton.LeftButton)
    assert says(view, "78.") or says(view, "predicted")
    assert view.prediction is not None
    target, predicted = view.prediction.folders["peft"], view.prediction.sizes["peft"]
    QTest.mouseClick(find(view, QPushButton, "Export"), Qt.MouseButton.LeftButton)
    bench.until(lambda: view.result.badge.isVisible() and view.result.badge.text() == "Self-test passed", 90)
    assert view.result.badge.state == "good"
    assert says(view.result, "greedy text matches 3 of 3") and says(view.result, "limit")
    record = json.loads((target / "anneal-export.json").read_text())
    assert record["complete"] and record["run"] == trained[1]
    assert record["checkpoint_step"] == view._step and len(record["checkpoint_sha256"]) == 64
    size = sum(path.stat().st_size for path in target.iterdir())
    assert predicted is not None and abs(size - predicted) < 0.2 * size
    bench.until(lambda: "Fine-tuned with Anneal Studio" in view.preview.text.toPlainText())
    assert len(view.result.hash.text()) == 64
    bench.until(lambda: not view.queue.jobs and window.context.tasks.idle)
    find(view, QPushButton, f"Show {target.name}")


def test_a_target_that_is_taken_is_refused_with_a_way_out(
    bench: Bench, trained: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *arguments: str(other))
    window = bench.window("export", run=trained[1])
    view = shown(bench, window)
    find(view, QPushButton, "Change folder").click()
    bench.until(lambda: view.prediction is not None and view.prediction.folders["merged"].parent == other)
    assert view.prediction is not None
    target = view.prediction.folders["merged"]
    target.mkdir(parents=True)
    (target / "diary.txt").write_text("mine")
    find(view, CheckBox, "Merged model").click()
    find(view, QPushButton, "Export").click()
    bench.until(lambda: view.error.isVisible(), 60)
    assert "not empty" in view.error.accessibleDescription()
    assert (target / "diary.txt").read_text() == "mine" and len(list(target.iterdir())) == 1
    find(view.error, QPushButton, "Close").click()
    assert not view.error.isVisible()
    bench.until(lambda: window.context.tasks.idle)


@pytest.mark.scenario("S21")
def test_too_little_disk_is_said_before_anything_is_written(
    bench: Bench, trained: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.views.export.facts.free_bytes", lambda target: 1000)
    window = bench.window("export", run=trained[1])
    view = shown(bench, window)
    find(view, CheckBox, "Merged model").click()
    assert not view.footer.export.isEnabled()
    assert says(view.footer, "free there")
    QTest.keyClick(view, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    assert not view.queue.jobs


def test_cancelling_leaves_nothing_behind(slow_bench: Bench, trained: tuple[Path, str]) -> None:
    bench = slow_bench
    window = bench.window("export", run=trained[1])
    view = shown(bench, window)
    for name in ("LoRA adapter (PEFT)", "Merged model"):
        find(view, CheckBox, name).click()
    assert view.prediction is not None and view._step is not None
    target = view.prediction.folders["peft"]
    find(view, QPushButton, "Export").click()
    bench.until(lambda: says(view, "Writing 61 %"))
    assert says(view, "Waits for the one before it")
    assert list(target.parent.glob(f".{target.name}.*.tmp"))
    began = time.monotonic()
    find(view, QPushButton, f"Cancel Merged model, step {view._step}").click()
    find(view, QPushButton, f"Cancel LoRA adapter (PEFT), step {view._step}").click()
    bench.until(lambda: not view.queue.jobs and window.context.tasks.idle)
    assert time.monotonic() - began < 20
    assert not list(target.parent.glob(f".{target.name}.*.tmp")) and not target.exists()
    assert not view.error.isVisible()


def test_closing_the_window_does_not_wait_for_an_export(slow_bench: Bench, trained: tuple[Path, str]) -> None:
    window = slow_bench.window("export", run=trained[1])
    view = shown(slow_bench, window)
    find(view, CheckBox, "Merged model").click()
    view.export()
    slow_bench.until(lambda: says(view, "Writing 61 %"))
    target = view.queue.jobs[0].target
    began = time.monotonic()
    slow_bench.close(window)
    assert time.monotonic() - began < 10
    going_on = [
        process for process in psutil.process_iter(["cmdline"]) if str(target) in (process.info["cmdline"] or [])
    ]
    assert going_on, "the export goes on by itself"
    for process in going_on:
        process.kill()
