"""The three steps of New run together, in the window as it is wired."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from studio.home import open_home
from studio.recipes import DatasetRef, ModelRef
from studio.settings import Settings, SettingsFile
from tests.helpers.datasets import chat, write_lines
from tests.helpers.qt_walk import find
from tests.helpers.tiny_models import write_tiny_llama
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.routes import destinations, factories
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.views.new_run import NewRunView
from ui.widgets.field import TextField

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[MainWindow]:
    home = open_home(tmp_path / "home")
    SettingsFile(home.settings).save(Settings(hub_cache=str(tmp_path / "cache"), hub_offline=True))
    services = Services(home)
    made = MainWindow(appearance, Tasks(), services, destinations({}), factories())
    qtbot.addWidget(made)
    made.resize(1440, 900)
    made.show()
    made.activateWindow()
    QTest.qWaitForWindowActive(made)
    made.navigate("new")
    yield made
    made.close()
    services.close()


def test_from_a_model_to_a_plan_by_key(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    view = window.pages.view("new")
    assert isinstance(view, NewRunView) and view.index == 0
    assert [step.text() for step in view.stepper.steps] == ["Model", "Data", "Method & plan"]
    QTest.keyClick(window, Qt.Key.Key_Return, CONTROL)
    assert view.index == 0, "Next waits for a model"
    document = window.context.services.document
    tiny = ModelRef(source="folder", path=str(write_tiny_llama(tmp_path / "tiny")))
    document.edit({"model": tiny, "sequence_length": 128})  # it was made for 256 tokens
    QTest.keyClick(window, Qt.Key.Key_Return, CONTROL)
    assert view.index == 1
    rows: list[object] = [chat(f"Question {at}?", f"Answer {at}.") for at in range(60)]
    document.set("datasets", (DatasetRef(str(write_lines(tmp_path / "rows.jsonl", rows))),))
    qtbot.waitUntil(lambda: view.session.can_launch, timeout=20_000)
    QTest.keyClick(window, Qt.Key.Key_Return, CONTROL)
    assert view.index == 2
    assert view.pages[1].step_state() == ("done", "rows · 60 rows")
    QTest.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert view.index == 1
    QTest.keyClick(window, Qt.Key.Key_Z, CONTROL)
    assert document.recipe.datasets == () and not view.pages[1].ready(), "a choice is undone from any step"
    qtbot.waitUntil(lambda: window.context.tasks.idle, timeout=20_000)


def test_ctrl_f_and_ctrl_s(qtbot: QtBot, window: MainWindow) -> None:
    view = window.pages.view("new")
    QTest.keyClick(window, Qt.Key.Key_F, CONTROL)
    assert QApplication.focusWidget() is find(view, TextField, "Search models")
    QTest.keyClick(window, Qt.Key.Key_S, CONTROL)
    recipes = window.context.services.home.recipes
    qtbot.waitUntil(lambda: len(list(recipes.glob("*.yaml"))) == 1, timeout=10_000)
    assert find(view, QPushButton, "Open recipe").isEnabled()
    qtbot.waitUntil(lambda: window.context.tasks.idle, timeout=20_000)
