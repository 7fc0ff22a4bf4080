"""The first start: what was checked, the demo in one click, the other ways in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QPushButton
from pytestqt.qtbot import QtBot

from studio.app import open_studio
from studio.home import open_home
from studio.recipes import to_yaml
from studio.recipes.library import PRESETS
from tests.helpers.method_screen import Landing, tiny_recipe
from tests.helpers.qt_walk import assert_walkable, find
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.context import Context
from ui.routes import destinations
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.view import View
from ui.views.welcome import WelcomeView
from ui.views.welcome.demo_card import DemoCard


@dataclass
class Welcome:
    window: MainWindow
    view: WelcomeView
    services: Services
    qtbot: QtBot

    def landing(self, route: str) -> Landing:
        found = self.window.pages.view(route)
        assert isinstance(found, Landing)
        return found

    def until_idle(self) -> None:
        self.qtbot.waitUntil(lambda: self.window.context.tasks.idle, timeout=30_000)


@pytest.fixture
def opened(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[Callable[..., Welcome]]:
    """Opens the screen with the demo's recipe at a path of the test's choice."""
    made: list[Welcome] = []

    def open_with(monkeypatch: pytest.MonkeyPatch, demo: Path) -> Welcome:
        monkeypatch.setattr("ui.views.welcome.view.DemoCard", lambda context: DemoCard(context, demo))
        services = Services(open_home(tmp_path / "home"), lambda root: open_studio(root, engine_command=["true"]))
        factories: dict[str, Callable[[Context], View]] = {"welcome": WelcomeView, "new": Landing, "live": Landing}
        window = MainWindow(appearance, Tasks(), services, destinations({})[:2], factories)
        qtbot.addWidget(window)
        window.show()
        window.activateWindow()
        QTest.qWaitForWindowActive(window)
        window.navigate("welcome")
        view = window.pages.view("welcome")
        assert isinstance(view, WelcomeView)
        made.append(Welcome(window, view, services, qtbot))
        made[0].until_idle()
        return made[0]

    yield open_with
    for one in made:
        for toast in list(one.window.toasts.toasts):
            toast.dismiss()
        one.window.close()
        one.services.close()


@pytest.fixture
def welcome(opened: Callable[..., Welcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Welcome:
    recipe = tiny_recipe(tmp_path)
    (tmp_path / "demo.yaml").write_text(to_yaml(recipe), encoding="utf-8")
    return opened(monkeypatch, tmp_path / "demo.yaml")


def test_the_machine_is_checked_and_checked_again(welcome: Welcome) -> None:
    checks = welcome.view.checks
    assert {"gpu", "torch", "memory", "disk", "home"} <= set(checks.found)
    checks.found = {}
    QTest.keyClick(welcome.window, Qt.Key.Key_F5)
    welcome.until_idle()
    assert checks.found["memory"].found and find(welcome.window, QPushButton, "Check again").isEnabled()


def test_the_demo_is_planned_and_launched_once(welcome: Welcome) -> None:
    demo = welcome.view.demo
    planned = demo._planned
    assert planned is not None and planned.plan is not None
    assert demo.badge.text().startswith("Fits · ") and all(figure.text.startswith("~") for figure in demo.figures)
    run = find(welcome.window, QPushButton, "Run the demo on CPU")
    welcome.qtbot.mouseClick(run, Qt.MouseButton.LeftButton)
    demo.launch()
    live = welcome.landing("live")
    welcome.qtbot.waitUntil(lambda: bool(live.arrivals), timeout=30_000)
    runs = [path.name for path in welcome.services.home.runs.iterdir() if not path.name.startswith(".")]
    assert runs == [live.arrivals[0]["run"]]
    welcome.services.runs.refresh()
    assert welcome.services.runs.row(runs[0]).tags == ("demo",)


def test_without_the_demos_model_picking_one_comes_first(
    opened: Callable[..., Welcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = tmp_path / "missing.yaml"
    missing.write_text("model:\n  source: folder\n  path: nowhere\ndatasets:\n- path: rows.jsonl\n", encoding="utf-8")
    screen = opened(monkeypatch, missing)
    run, pick = (
        find(screen.window, QPushButton, "Run the demo on CPU"),
        find(screen.window, QPushButton, "Pick a model"),
    )
    assert not run.isEnabled() and "nowhere" in run.toolTip()
    assert "not set up" in screen.view.demo.basis.text()
    screen.qtbot.mouseClick(pick, Qt.MouseButton.LeftButton)
    assert screen.landing("new").arrivals == [{"step": "model"}]


def test_a_recipe_is_opened_from_the_list(welcome: Welcome) -> None:
    welcome.services.recipes.save(welcome.services.document.recipe, "mine")
    recipe = tiny_recipe(welcome.services.home.root / "other", name="Opened")
    path = welcome.services.recipes.save(recipe, "opened")
    welcome.qtbot.mouseClick(find(welcome.window, QPushButton, "Open recipe"), Qt.MouseButton.LeftButton)
    welcome.until_idle()
    menu = find(welcome.window, QMenu, "Recipes")
    names = [action.text() for action in menu.actions() if action.text()]
    assert (
        names[:2] == ["mine", "opened"]
        and "lora-balanced (preset)" in names
        and names[-2:] == ["Open a file…", "Save as…"]
    )
    next(action for action in menu.actions() if action.text() == path.stem).trigger()
    menu.close()
    welcome.until_idle()
    assert welcome.services.document.recipe.name == "Opened" and welcome.services.document.is_saved
    assert welcome.landing("new").arrivals == [{"step": "method"}]
    welcome.services.document.undo()
    assert welcome.services.document.recipe.name is None


def test_saving_keeps_to_one_file_and_overwrites_no_other(welcome: Welcome) -> None:
    buttons, document, recipes = welcome.view.recipes, welcome.services.document, welcome.services.home.recipes

    def saved() -> list[str]:
        buttons.save_now()
        welcome.until_idle()
        assert document.is_saved
        return sorted(path.name for path in recipes.iterdir())

    welcome.services.recipes.save(document.recipe, "Night watch")
    document.edit({"name": "Night watch", "lora_rank": 4})
    assert saved() == ["Night watch 2.yaml", "Night watch.yaml"], "a file that was there stays"
    document.set("lora_rank", 8)
    assert saved() == ["Night watch 2.yaml", "Night watch.yaml"]
    assert welcome.services.recipes.open(recipes / "Night watch 2.yaml").lora_rank == 8
    document.set("name", "Dawn")
    assert saved() == ["Dawn.yaml", "Night watch 2.yaml", "Night watch.yaml"], "another name is another recipe"


def test_saving_elsewhere_asks_where(welcome: Welcome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    buttons, document = welcome.view.recipes, welcome.services.document
    answers, asked = ["", str(tmp_path / "saved"), str(PRESETS / "lora-balanced.yaml")], []

    def choose(parent: object, title: str, start: str, kinds: str) -> tuple[str, str]:
        asked.append(start)
        return answers[len(asked) - 1], kinds

    monkeypatch.setattr("ui.recipe_files.QFileDialog.getSaveFileName", choose)
    document.set("name", "Night watch")
    buttons.save_as()
    assert asked == [str(welcome.services.home.recipes / "Night watch.yaml")] and not document.is_saved
    buttons.save_as()
    welcome.until_idle()
    assert document.is_saved and welcome.services.recipes.open(tmp_path / "saved.yaml") == document.recipe
    before = (PRESETS / "lora-balanced.yaml").read_bytes()
    buttons.save_as()
    welcome.until_idle()
    assert (PRESETS / "lora-balanced.yaml").read_bytes() == before
    assert welcome.window.toasts.history[-1].state == "bad", "presets cannot be changed"


def test_the_screen_can_be_walked(welcome: Welcome) -> None:
    assert_walkable(welcome.view)
