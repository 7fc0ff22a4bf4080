"""Where one can go, and which screen stands there. A screen is imported when it is first gone to."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ui.context import Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.view import View
from ui.widgets.nav_rail import Destination

_VIEWS = {
    "welcome": ("ui.views.welcome", "WelcomeView"),
    "new": ("ui.views.new_run", "NewRunView"),
    "live": ("ui.views.live", "LiveView"),
    "runs": ("ui.views.runs", "RunsView"),
    "export": ("ui.views.export", "ExportView"),
    "doctor": ("ui.views.doctor", "DoctorView"),
    "settings": ("ui.views.settings", "SettingsView"),
}


def destinations(chosen: dict[str, str]) -> list[Destination]:
    """The rail, from the top; `chosen` are the user's own shortcuts."""
    keys = {name: shown(shortcut.keys) for name, shortcut in shortcuts(chosen).items()}
    return [
        Destination("new", "plus", tr("New run"), keys["go.new"]),
        Destination("live", "pulse", tr("Live"), keys["go.live"]),
        Destination("runs", "list", tr("Runs"), keys["go.runs"]),
        Destination("export", "export", tr("Export"), keys["go.export"]),
        Destination("doctor", "doctor", tr("Doctor"), keys["go.doctor"], foot=True),
        Destination("settings", "gear", tr("Settings"), keys["go.settings"], foot=True),
    ]


def factories() -> dict[str, Callable[[Context], View]]:
    """Route → what makes its screen."""
    return {route: _maker(module, name) for route, (module, name) in _VIEWS.items()}


def _maker(module: str, name: str) -> Callable[[Context], View]:
    def make(context: Context) -> View:
        view = getattr(import_module(module), name)(context)
        if not isinstance(view, View):
            raise TypeError(f"{module}.{name} is not a View.")
        return view

    return make
