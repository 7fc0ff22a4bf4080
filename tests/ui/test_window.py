"""The window around the screens: routes, keys, the command field, closing, and what it may import."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout
from pytestqt.qtbot import QtBot

from studio.home import open_home
from tests.helpers.qt_walk import assert_walkable, find
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.context import Command, Context
from ui.crash import install
from ui.display import missing_display
from ui.routes import destinations
from ui.services import Services
from ui.shell.command_field import matching, score
from ui.shell.main_window import MainWindow
from ui.shell.wizard import Wizard
from ui.view import View, WizardPage
from ui.widgets.button import Button
from ui.widgets.dialog import ConfirmDialog
from ui.widgets.stepper import StepState
from ui.widgets.toast import Message


class Screen(View):
    """A screen that remembers what happened to it."""

    def __init__(self, context: Context, name: str = "Screen") -> None:
        super().__init__(context)
        self.log: list[object] = []
        self.name = name
        self.setProperty("pane", name)
        QVBoxLayout(self).addWidget(Button(f"Button of {name}"))

    def arrive(self, **arguments: object) -> None:
        self.log.append(arguments)

    def leave(self) -> None:
        self.log.append("left")

    def shutdown(self) -> None:
        self.log.append("shut down")

    def crumbs(self) -> Sequence[str]:
        return (self.name, "here")

    def commands(self) -> Sequence[Command]:
        return [Command(f"Do it in {self.name}", lambda: self.log.append("done"))]


class Page(WizardPage):
    """A step that is ready when told so."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.is_ready = False
        QVBoxLayout(self).addWidget(Button("In the page"))

    def ready(self) -> bool:
        return self.is_ready

    def next_label(self) -> str:
        return "Next: data"

    def step_state(self) -> tuple[StepState, str]:
        return ("done", "Chosen") if self.is_ready else ("todo", "Not chosen yet")


@pytest.fixture
def window(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[MainWindow]:
    services = Services(open_home(tmp_path / "home"))
    factories = {
        "new": lambda context: Wizard(context, [("model", "Model", Page), ("data", "Data", Page)]),
        "live": lambda context: Screen(context, "Live"),
        "runs": lambda context: Screen(context, "Runs"),
        "doctor": lambda context: Screen(context, "Doctor"),
    }
    places = [item for item in destinations({}) if item.route in factories]
    made = MainWindow(appearance, Tasks(), services, places, factories)
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    QTest.qWaitForWindowActive(made)
    yield made
    made.close()
    services.close()


def screen(window: MainWindow, route: str) -> Screen:
    found = window.pages.view(route)
    assert isinstance(found, Screen)
    return found


def test_navigation_arrives_leaves_and_names_the_place(window: MainWindow) -> None:
    window.navigate("live", run="20261201T110203-K7QF")
    assert screen(window, "live").log == [{"run": "20261201T110203-K7QF"}]
    assert window.top.crumbs.accessibleName() == "Live › here"
    assert window.rail.item("live").isChecked()
    window.rail.item("runs").click()
    assert window.pages.route == "runs" and screen(window, "live").log[-1] == "left"
    with pytest.raises(KeyError):
        window.navigate("playground")


def test_keys_go_places(window: MainWindow) -> None:
    window.navigate("runs")
    QTest.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert window.pages.route == "live"
    QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    assert window.pages.route == "new"


def test_theme_by_key(window: MainWindow, appearance: Appearance) -> None:
    window.navigate("live")
    QTest.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert appearance.theme.name == "light"
    find(window, QPushButton, "Dark or light").click()
    assert appearance.theme.name == "dark"


def test_panes_by_f6(window: MainWindow) -> None:
    window.navigate("live")
    QTest.keyClick(window, Qt.Key.Key_F6)
    first = QApplication.focusWidget()
    QTest.keyClick(window, Qt.Key.Key_F6)
    second = QApplication.focusWidget()
    assert first is not None and second is not None and first is not second
    QTest.keyClick(window, Qt.Key.Key_F6)
    assert QApplication.focusWidget() is first, "two panes: the third press comes round"


def test_command_field(window: MainWindow) -> None:
    window.navigate("live")
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert window.command_field.hasFocus()
    assert window.command_field.offered[0].label == "Do it in Live", "the screen's own come first"
    QTest.keyClicks(window.command_field, "gdoc")
    assert [command.label for command in window.command_field.offered] == ["Go to Doctor"]
    QTest.keyClick(window.command_field, Qt.Key.Key_Return)
    assert window.pages.route == "doctor" and window.command_field.text() == ""
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(window.command_field, Qt.Key.Key_Escape)
    assert not window.command_field.offered


def test_fuzzy_match() -> None:
    assert score("gd", "Go to Doctor") is not None and score("dg", "Go to Doctor") is None
    commands = [Command(label, lambda: None) for label in ("Lung", "Launch run", "Dark or light")]
    assert matching("l", commands)[0].label in ("Lung", "Launch run")
    assert [command.label for command in matching("larun", commands)] == ["Launch run"]


def test_wizard_steps(window: MainWindow) -> None:
    window.navigate("new")
    wizard = window.pages.current_view()
    assert isinstance(wizard, Wizard)
    page = wizard.pages[0]
    assert isinstance(page, Page)
    assert not wizard.footer.next.isEnabled() and not wizard.footer.back.isVisible()
    QTest.keyClick(wizard, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert wizard.index == 0, "not ready"
    page.is_ready = True
    page.step_changed.emit()
    QTest.keyClick(wizard, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert wizard.index == 1 and wizard.stepper.steps[0].state == "done"
    assert list(wizard.crumbs()) == ["New run", "Data"]
    wizard.footer.back.click()
    assert wizard.index == 0
    window.navigate("new", step="data")
    assert wizard.index == 1
    assert_walkable(wizard)


def test_window_can_be_walked(window: MainWindow) -> None:
    window.navigate("live")
    window.top.machine.set_machine("No GPU · CPU")
    assert_walkable(window)


def test_narrow_windows_have_a_rail_of_icons(window: MainWindow) -> None:
    window.resize(1100, 700)
    assert window.rail.width() == 48
    window.resize(1440, 900)
    assert window.rail.width() == 72


def test_toast_actions_and_the_bells_list(window: MainWindow) -> None:
    window.say(Message("bad", "Download stopped", "41.2 GB are kept."))
    assert [message.title for message in window.toasts.history] == ["Download stopped"]
    window.toasts.toasts[0].dismiss()


@pytest.mark.parametrize(
    ("answer", "stays", "stopped"), [("keep", False, []), ("stop", False, ["r1"]), ("cancel", True, [])]
)
def test_closing_asks_while_runs_train(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, answer: str, stays: bool, stopped: list[str]
) -> None:
    asked: list[str] = []

    def answering(dialog: ConfirmDialog) -> int:
        asked.append(dialog.accessibleDescription())
        dialog.answer = answer
        return 0

    class Runs:
        def stop(self, run: str) -> None:
            asked.append(run)

    monkeypatch.setattr(ConfirmDialog, "exec", answering)
    window._services._studio = SimpleNamespace(runs=Runs(), close=lambda: None)  # type: ignore[assignment]  # a stand-in
    window.status_watch.active = {"r1": "helpdesk"}
    window.navigate("live")
    window.close()
    assert window.isVisible() == stays
    assert "helpdesk" in asked[0] and asked[1:] == stopped
    window.status_watch.active = {}


def test_geometry_is_kept(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> None:
    def opened() -> tuple[MainWindow, Services]:
        services = Services(open_home(tmp_path))
        made = MainWindow(appearance, Tasks(), services, [], {})
        qtbot.addWidget(made)
        return made, services

    first, services = opened()
    assert (first.width(), first.height()) == (1440, 900)
    first.show()
    first.resize(1024, 700)  # no wider: the offscreen screen is 800 px, and what is restored is fitted to it
    first.close()
    services.close()
    second, services = opened()
    assert (second.width(), second.height()) == (1024, 700)
    second.close()
    services.close()


def test_run_news_reach_the_views(qtbot: QtBot, window: MainWindow) -> None:
    from studio.runs.ingest import Changes
    from studio.runs.rows import RunRow

    class Runs:
        told = False

        def refresh(self) -> Changes:
            first, self.told = not self.told, True
            return Changes(frozenset({"r1"})) if first else Changes()

    store = SimpleNamespace(runs=lambda query, limit: [RunRow(id="r1", name="helpdesk", status="training")])
    studio = SimpleNamespace(runs=Runs(), store=store, close=lambda: None)
    window._services._studio = studio  # type: ignore[assignment]  # a stand-in
    with qtbot.waitSignal(window.watch.changed) as told:
        window.watch.start()
    assert told.args[0].changed == {"r1"}
    qtbot.waitUntil(lambda: window.status.run_text == "Training · helpdesk")
    assert "running" in window.rail.item("live").accessibleName()
    window.status_watch.active = {}


def test_no_display_is_said_before_qt_aborts() -> None:
    assert missing_display({"QT_QPA_PLATFORM": "offscreen"}, "linux") is None
    assert "no display" in str(missing_display({}, "linux"))
    assert ":987" in str(missing_display({"DISPLAY": ":987"}, "linux"))
    assert missing_display({}, "win32") is None
    here = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-m", "ui"], env=here, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2 and "anneal" in done.stderr and "Traceback" not in done.stderr


def test_a_home_of_a_newer_version_is_said(tmp_path: Path) -> None:
    (tmp_path / "home.json").write_text(json.dumps({"version": 99}))
    command = [sys.executable, "-m", "ui", "--home", str(tmp_path)]
    here = {"PATH": "/usr/bin:/bin", "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=here, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "newer" in done.stderr and "Traceback" not in done.stderr


def test_the_shell_imports_nothing_heavy() -> None:
    script = (
        "import sys, ui.__main__, ui.shell.wizard, ui.forms.folds, ui.widgets.token_microscope\n"
        "heavy = 'torch transformers tokenizers pyarrow pyqtgraph numpy sqlite_utils huggingface_hub'.split()\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.expects_log("An unexpected error in the window")
def test_an_unexpected_error_is_told_and_can_be_copied(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Message] = []
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    install(said.append)
    error = ZeroDivisionError("by nothing")
    sys.excepthook(ZeroDivisionError, error, None)
    assert "ZeroDivisionError: by nothing" in said[0].fact and said[0].on_action is not None
    said[0].on_action()
    assert "ZeroDivisionError" in QApplication.clipboard().text()


@pytest.mark.scenario("S1")
def test_the_form_comes_back_after_a_kill(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> None:
    home = open_home(tmp_path / "home")
    services = Services(home)
    window = MainWindow(appearance, Tasks(), services, destinations({}), {})
    qtbot.addWidget(window)
    services.document.edit({"lora_rank": 7, "learning_rate": 3e-4})
    services.document.set("name", "half done")
    qtbot.waitUntil(lambda: home.draft.exists() and "half done" in home.draft.read_text(), timeout=3000)
    # A kill runs no more of our code: another window over the same home must find it all on the disk.
    assert Services(home).document.recipe == services.document.recipe
    services.document.set("lora_rank", 9)
    window.close()
    assert Services(home).document.recipe.lora_rank == 9, "what was typed a moment before closing is kept too"
