"""Every key of the window in one table; a person may change each in the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.tr import tr


@dataclass(frozen=True)
class Shortcut:
    """`name` is what the settings file calls it."""

    name: str
    keys: str
    label: str


def shortcuts(chosen: Mapping[str, str]) -> dict[str, Shortcut]:
    """All shortcuts by name, with the keys in `chosen` in place of the defaults."""
    table = (
        ("command", "Ctrl+K", tr("Command field")),
        ("new", "Ctrl+N", tr("New run")),
        ("go.new", "Ctrl+1", tr("Go to New run")),
        ("go.live", "Ctrl+2", tr("Go to Live")),
        ("go.runs", "Ctrl+3", tr("Go to Runs")),
        ("go.export", "Ctrl+5", tr("Go to Export")),
        ("go.doctor", "Ctrl+6", tr("Go to Doctor")),
        ("go.settings", "Ctrl+,", tr("Go to Settings")),
        ("theme", "Ctrl+Shift+T", tr("Dark or light")),
        ("pane.next", "F6", tr("Next pane")),
        ("pane.previous", "Shift+F6", tr("Previous pane")),
        ("step.next", "Ctrl+Return", tr("Next step")),
        ("step.back", "Alt+Left", tr("Back")),
        ("launch", "Ctrl+Shift+Return", tr("Launch")),
        ("search", "Ctrl+F", tr("Search in this screen")),
        ("undo", "Ctrl+Z", tr("Undo a setting")),
        ("redo", "Ctrl+Shift+Z", tr("Redo a setting")),
        ("level", "Ctrl+B", tr("Basic or Advanced")),
        ("pause", "Ctrl+P", tr("Pause or resume")),
        ("save", "Ctrl+S", tr("Save the recipe, or checkpoint now")),
        ("previous", "Ctrl+PgUp", tr("Previous checkpoint or sample")),
        ("next", "Ctrl+PgDown", tr("Next checkpoint or sample")),
        ("log", "Ctrl+L", tr("Log drawer")),
        ("details", "Ctrl+.", tr("Detail drawer")),
        ("differences", "Ctrl+D", tr("Differences only")),
        ("export", "Ctrl+E", tr("Export the selection")),
        ("refresh", "F5", tr("Check again or refresh")),
    )
    return {name: Shortcut(name, chosen.get(name, keys), label) for name, keys, label in table}


def shown(keys: str) -> str:
    """Keys as a key cap shows them: "Ctrl+Return" → "Ctrl ↵"."""
    return keys.replace("Return", "↵").replace("PgDown", "PgDn").replace("Left", "←").replace("+", " ")
