"""The doctor as a person uses it: rows that open, a report without names, rates that plans use."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from studio.home import open_home
from studio.machine.doctor import Check
from studio.machine.report import without_names
from studio.machine.storage import folder_bytes, measure_storage
from studio.settings import Settings, SettingsFile
from tests.helpers.hub_server import HubServer
from tests.helpers.qt_walk import assert_walkable, find
from tests.helpers.studio_window import Bench, bench_over
from ui.appearance import Appearance
from ui.shell.main_window import MainWindow
from ui.views.doctor.check_row import CheckRow
from ui.views.doctor.view import DoctorView
from ui.views.doctor.words import found_words, help_for, state_of, verdict_words

PROBE = (
    'print(\'{"cores":2,"memory_bytes":1,"other_bytes":0,"matmul_flops":123e9,"memory_bandwidth":8589934592.0,'
    '"measured":true}\')'
)


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server
        close_session()


@pytest.fixture
def bench(qtbot: QtBot, appearance: Appearance, tmp_path: Path, hub: HubServer) -> Iterator[Bench]:
    SettingsFile(open_home(tmp_path / "home").settings).change(
        hub_endpoint=hub.endpoint, hub_home=str(tmp_path / "hf"), hub_cache=str(tmp_path / "cache")
    )
    with bench_over(qtbot, appearance, tmp_path / "home", (sys.executable, "-c", PROBE)) as made:
        yield made


def examined(bench: Bench, window: MainWindow) -> DoctorView:
    view = window.pages.current_view()
    assert isinstance(view, DoctorView)
    bench.until(lambda: bool(view.list.rows) and view.list.rows[-1].isVisible() and window.context.tasks.idle)
    return view


def row(view: DoctorView, identity: str) -> CheckRow:
    return next(row for row in view.list.rows if row.check.id == identity)


def test_no_gpu_is_neutral_and_says_what_happens() -> None:
    gpu = Check(id="gpu", label="GPU", state="attention", found="no NVIDIA driver", remedy_code="doctor.install_driver")
    assert state_of(gpu) == "neutral" and "CPU" in found_words(gpu) and not help_for(gpu).command
    title, counts, state = verdict_words([gpu])
    assert (title, state) == ("Ready to train", "good") and "attention" not in counts


def test_something_missing_is_said_with_its_command() -> None:
    torch = Check(id="torch", label="PyTorch", state="bad", found="not installed", remedy_code="doctor.install_torch")
    assert verdict_words([torch])[0] == "Not ready to train"
    assert help_for(torch).command.startswith("pip install torch")


def test_rows_open_by_mouse_and_keys_one_at_a_time(bench: Bench) -> None:
    window = bench.window("doctor")
    view = examined(bench, window)
    memory, disk = row(view, "memory"), row(view, "disk")
    QTest.mouseClick(memory, Qt.MouseButton.LeftButton)
    assert memory.is_open and memory.details.isVisible()
    QTest.keyClick(memory, Qt.Key.Key_Down)
    assert disk.hasFocus()
    QTest.keyClick(disk, Qt.Key.Key_Return)
    assert disk.is_open and not memory.is_open
    assert "usable" in memory.accessibleName() and "GiB" in memory.accessibleName()
    bench.until(lambda: "used by Anneal Studio" in view.pane.places.total.text())
    assert_walkable(view)


@pytest.mark.scenario("S35")
def test_the_report_names_nobody_and_no_token(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_" + "secretofthetest")
    window = bench.window("doctor")
    view = examined(bench, window)
    find(view, QPushButton, "Copy report").click()
    text = QApplication.clipboard().text()
    assert "PyTorch" in text and "python 3" in text
    assert "secretofthetest" not in text
    assert without_names(f"{Path.home()}/x of {getpass.getuser()}, hf_abcdefgh") == "~/x of USER, [secret]"


def test_f5_checks_again_and_keeps_the_open_row(bench: Bench) -> None:
    window = bench.window("doctor")
    view = examined(bench, window)
    row(view, "python")._toggle()
    before = view.checks
    window.activateWindow()
    QTest.qWaitForWindowActive(window)
    QTest.keyClick(window, Qt.Key.Key_F5)
    assert not view.verdict.again.isEnabled()
    bench.until(lambda: view.checks is not before and window.context.tasks.idle)
    assert row(view, "python").is_open and view.verdict.again.isEnabled()


def test_a_hub_that_is_silent_needs_attention_and_leads_to_settings(bench: Bench, hub: HubServer) -> None:
    file = SettingsFile(bench.root / "settings.json")
    file.change(hub_endpoint="http://127.0.0.1:9")
    window = bench.window("doctor")
    view = examined(bench, window)
    find(view, QPushButton, "What to do about Hugging Face Hub").click()
    file.change(hub_endpoint=hub.endpoint)
    find(view, QPushButton, "Open Hub account").click()
    assert window.pages.route == "settings"
    bench.until(lambda: window.context.tasks.idle)


def test_measuring_reaches_the_next_plan(bench: Bench) -> None:
    window = bench.window("doctor")
    view = examined(bench, window)
    assert "Assumed" in view.pane.note.text()
    QTest.mouseClick(find(view, QPushButton, "Measure this machine"), Qt.MouseButton.LeftButton)
    bench.until(lambda: "Measured" in view.pane.note.text())
    assert view.pane.rates.findChildren(type(view.pane.note))
    machine = bench.studio(window).machine()
    assert machine.measured and machine.matmul_flops == 123e9


def test_places_are_measured(tmp_path: Path) -> None:
    home = open_home(tmp_path / "home")
    (home.runs / "one").mkdir()
    (home.runs / "one" / "events.jsonl").write_bytes(b"x" * 1000)
    (home.runs / ".unfinished").mkdir()
    storage = measure_storage(home, Settings(export_folder=str(tmp_path / "elsewhere")), tmp_path / "no cache")
    runs = next(place for place in storage.places if place.kind == "runs")
    assert (runs.size_bytes, runs.count) == (1000, 1)
    assert next(place for place in storage.places if place.kind == "exports").path == str(tmp_path / "elsewhere")
    assert folder_bytes(tmp_path / "absent") == 0 and storage.used_bytes == 1000
