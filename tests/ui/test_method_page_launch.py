"""From the form to a run: the real engine, one press or many."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from studio.app import Studio, open_studio
from studio.home import open_home
from studio.recipes import resolve
from tests.helpers.method_screen import MethodScreen, open_method_screen, tiny_recipe
from tests.helpers.qt_walk import find
from ui.appearance import Appearance
from ui.services import Services
from ui.widgets.field import NumberField, TextField

LAUNCH = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def without_an_engine(root: Path) -> Studio:
    """A studio whose runs end at once."""
    return open_studio(root, engine_command=["true"])


@pytest.fixture
def idle(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[MethodScreen]:
    recipe = tiny_recipe(tmp_path)
    made = open_method_screen(
        qtbot, appearance, tmp_path, recipe, services=lambda home: Services(open_home(home), without_an_engine)
    )
    yield made
    made.close()


def until_launched(screen: MethodScreen, visits: int = 1) -> str:
    screen.qtbot.waitUntil(lambda: len(screen.live.arrivals) == visits, timeout=30_000)
    return str(screen.live.arrivals[-1]["run"])


@pytest.mark.scenario("S5")
def test_a_launch_reaches_the_engine_and_the_form_stays(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> None:
    recipe = tiny_recipe(tmp_path, maximum_steps=3)
    screen = open_method_screen(qtbot, appearance, tmp_path, recipe)
    services = screen.services
    try:
        launch = find(screen.window, QPushButton, "Launch run")
        qtbot.mouseClick(launch, Qt.MouseButton.LeftButton)
        qtbot.mouseClick(launch, Qt.MouseButton.LeftButton)
        screen.press(Qt.Key.Key_Return, LAUNCH)
        run = until_launched(screen)
        assert screen.runs == [run], "pressed three times, launched once"
        assert screen.window.pages.route == "live"
        launched = services.document.recipe
        assert launched == recipe, "the form is as it was"
        services.document.set("learning_rate", 1e-5)
        services.runs.refresh()
        deadline = time.monotonic() + 120
        while services.runs.row(run).is_active and time.monotonic() < deadline:
            services.runs.refresh()
            QTest.qWait(100)
        row = services.runs.row(run)
        assert (row.status, row.step, row.total_steps) == ("finished", 3, 3), row.reason
        assert resolve(services.runs.recipe(run)) == resolve(launched), "the run shows what was launched"
    finally:
        screen.close()


def test_a_visit_launches_once_and_the_next_visit_again(idle: MethodScreen) -> None:
    idle.press(Qt.Key.Key_Return, LAUNCH)
    first = until_launched(idle)
    idle.page.bar.launch()
    assert idle.runs == [first]
    idle.window.navigate("new", step="method")
    idle.until_planned()
    idle.press(Qt.Key.Key_Return, LAUNCH)
    second = until_launched(idle, 2)
    assert idle.runs == sorted([first, second]) and first != second


def test_a_held_key_launches_once(idle: MethodScreen) -> None:
    shortcuts = idle.page.findChildren(QShortcut)
    assert len(shortcuts) == 2 and not [one for one in shortcuts if one.autoRepeat()]


def test_what_is_being_typed_is_launched(idle: MethodScreen) -> None:
    name, tags = find(idle.window, TextField, "Name"), find(idle.window, TextField, "Tags")
    QTest.keyClicks(tags, "first, tiny")
    name.setFocus()
    QTest.keyClicks(name, "Lighthouse")
    idle.press(Qt.Key.Key_Return, LAUNCH)
    run = until_launched(idle)
    assert idle.services.runs.recipe(run).name == "Lighthouse"
    idle.services.runs.refresh()
    row = idle.services.runs.row(run)
    assert row.name == "Lighthouse" and sorted(row.tags) == ["first", "tiny"]


def test_a_launch_waits_for_the_newest_plan(idle: MethodScreen) -> None:
    rank = find(idle.page, NumberField, "LoRA rank")
    rank.setFocus()
    QTest.keyClick(rank, Qt.Key.Key_Up)
    assert idle.session.pending
    idle.press(Qt.Key.Key_Return, LAUNCH)
    run = until_launched(idle)
    assert idle.services.runs.recipe(run).lora_rank == 5, "what the form says, not what the last plan was for"


def test_a_launch_that_turns_out_impossible_is_told(idle: MethodScreen) -> None:
    idle.services.document.set("sequence_length", 512)
    idle.page.launcher.launch()
    idle.until_planned()
    assert not idle.page.launcher.busy and idle.runs == []
    message = idle.window.toasts.history[-1]
    assert message.title == "Not launched" and "256" in message.fact
    for toast in list(idle.window.toasts.toasts):
        toast.dismiss()
