"""The window on the last step of New run, over real studio objects and a tiny model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout
from pytestqt.qtbot import QtBot

from engine.planner.machine import MachineSpec
from studio.home import open_home
from studio.recipes import Recipe
from tests.helpers.tiny_models import write_tiny_llama
from tests.helpers.tiny_runs import recipe_for, write_rows
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.context import Context
from ui.forms.form import bind_undo
from ui.routes import destinations
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.shell.wizard import Wizard
from ui.view import View, WizardPage
from ui.views.new_run.method_page import MethodPage
from ui.views.new_run.plan_session import PlanSession
from ui.widgets.button import Button

PATIENCE_MILLISECONDS = 30_000


class Landing(View):
    """A screen that remembers with what it was come to."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.arrivals: list[dict[str, object]] = []
        QVBoxLayout(self).addWidget(Button("Here"))

    def arrive(self, **arguments: object) -> None:
        self.arrivals.append(arguments)


class Earlier(WizardPage):
    """A step before ours."""

    def next_label(self) -> str:
        return "Next"


@dataclass
class MethodScreen:
    """The parts that tests talk about."""

    window: MainWindow
    page: MethodPage
    services: Services
    live: Landing
    qtbot: QtBot

    @property
    def session(self) -> PlanSession:
        return self.page.session

    @property
    def runs(self) -> list[str]:
        return sorted(path.name for path in self.services.home.runs.iterdir() if not path.name.startswith("."))

    def until_planned(self) -> None:
        """Wait for the newest plan, alternatives included."""
        self.qtbot.waitUntil(
            lambda: not self.session.pending and not self.session._others.pending, timeout=PATIENCE_MILLISECONDS
        )
        QTest.qWait(20)  # what was added to a layout is shown by the event loop

    def give_memory(self, memory_bytes: int) -> None:
        """Let the machine have this much memory from now on, and plan for it."""
        machine = MachineSpec(cores=1, memory_bytes=memory_bytes, other_bytes=0, disk_free_bytes=8 << 30)
        self.services.planning._machine = lambda: machine
        self.session.refresh()
        self.until_planned()

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
        """A key of the window, wherever the focus is."""
        self.window.activateWindow()
        QTest.qWaitForWindowActive(self.window)
        QTest.keyClick(self.window.focusWidget() or self.page, key, modifiers)

    def close(self) -> None:
        """End the window and everything that belongs to it."""
        self.window.status_watch.active = {}
        self.window.close()
        self.services.close()


def tiny_recipe(folder: Path, **settings: object) -> Recipe:
    """A recipe over a tiny model and rows that lie in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tiny_llama(folder / "model")
    write_rows(folder / "rows.jsonl")
    return recipe_for(folder, **settings)


def open_method_screen(
    qtbot: QtBot, appearance: Appearance, folder: Path, recipe: Recipe | None, *,
    services: Callable[[Path], Services] | None = None,
) -> MethodScreen:  # fmt: skip
    """The shown window, with a plan where there is a recipe."""
    made = services(folder / "home") if services else Services(open_home(folder / "home"))

    def new_run(context: Context) -> Wizard:
        wizard = Wizard(
            context, [("model", "Model", Earlier), ("data", "Data", Earlier), ("method", "Method & plan", MethodPage)]
        )
        bind_undo(wizard, context.services.document, "Ctrl+Z", "Ctrl+Shift+Z")
        return wizard

    factories: dict[str, Callable[[Context], View]] = {"new": new_run, "live": Landing}
    places = [place for place in destinations({}) if place.route in factories]
    window = MainWindow(appearance, Tasks(), made, places, factories)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    QTest.qWaitForWindowActive(window)
    if recipe is not None:
        made.document.replace(recipe)
    window.navigate("new", step="method")
    wizard = cast("Wizard", window.pages.view("new"))
    screen = MethodScreen(
        window, cast("MethodPage", wizard.pages[2]), made, cast("Landing", window.pages.view("live")), qtbot
    )
    screen.until_planned()
    assert QApplication.activeWindow() is window, "some part of the screen was shown as a window of its own"
    return screen
