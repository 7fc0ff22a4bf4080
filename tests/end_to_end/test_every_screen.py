"""Every screen over a home with a finished run: names, Tab, and no text cut, in both themes and 30 % longer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.home import open_home
from tests.helpers.cut_text import cut_texts
from tests.helpers.qt_walk import assert_walkable
from tests.helpers.sessions import finish, open_quiet_studio, small_session_recipe
from ui.__main__ import build_window
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.tr import PseudoLocale

ROUTES: dict[str, tuple[str, dict[str, str]]] = {
    "welcome": ("welcome", {}),
    "model": ("new", {"step": "model"}),
    "data": ("new", {"step": "data"}),
    "basic": ("new", {"step": "method", "level": "basic"}),
    "advanced": ("new", {"step": "method", "level": "advanced"}),
    "live": ("live", {}),
    "runs": ("runs", {}),
    "export": ("export", {}),
    "doctor": ("doctor", {}),
    **{f"settings-{page}": ("settings", {"page": page}) for page in
       ("appearance", "account", "storage", "shortcuts", "about")},
}  # fmt: skip


@dataclass
class Used:
    """A home in which somebody has worked, and the recipe on the form."""

    home: Path
    recipe: object


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Used:
    root = tmp_path_factory.mktemp("used")
    studio = open_quiet_studio(root / "home")
    try:
        studio.settings.change(hub_offline=True, hub_cache=str(root / "cache"), hub_home=str(root / "hf"))
        recipe = small_session_recipe(root)
        finish(studio, recipe, name="questions")
        return Used(root / "home", recipe)
    finally:
        studio.close()


@pytest.fixture(params=["dark", "light", "pseudo"])
def window(request: pytest.FixtureRequest, qtbot: QtBot, qapp: QApplication, used: Used) -> Iterator[MainWindow]:
    locale = PseudoLocale()
    if request.param == "pseudo":
        qapp.installTranslator(locale)
    services = Services(open_home(used.home))
    services.document.replace(used.recipe)  # type: ignore[arg-type]  # a Recipe
    made = build_window(qapp, services)
    qtbot.addWidget(made)
    made.context.appearance.choose("light" if request.param == "light" else "dark")
    made.resize(1440, 900)
    made.show()
    made.start()
    yield made
    qapp.removeTranslator(locale)
    made.close()
    services.close()


def test_names_tab_and_room_on_every_screen(qtbot: QtBot, window: MainWindow) -> None:
    wrong: list[str] = []
    for name, (route, arguments) in ROUTES.items():
        window.navigate(route, **arguments)
        view = window.pages.current_view()
        assert view is not None
        qtbot.waitUntil(lambda: window.context.tasks.idle, timeout=30_000)
        qtbot.wait(100)  # what a task brought is laid out and painted
        qtbot.waitUntil(lambda: window.context.tasks.idle, timeout=30_000)
        try:
            assert_walkable(view)
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
        wrong += [f"{name}: {text}" for text in cut_texts(window)]
    assert not wrong, "\n".join(wrong)
