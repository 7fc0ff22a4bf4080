"""The pages that Settings and Doctor show at their left, so that one leads to the other."""

from __future__ import annotations

from studio.machine.doctor import versions
from ui.context import Context
from ui.tr import tr
from ui.widgets.page_nav import Page, PageNav


def settings_nav(context: Context, current: str) -> PageNav:
    """The list with `current` chosen. What is picked in it that is a screen of its own is gone to."""
    nav = PageNav(
        tr("Settings pages"),
        [
            Page("doctor", "doctor", tr("Doctor")),
            Page("appearance", "palette", tr("Appearance")),
            Page("account", "key", tr("Hub account")),
            Page("storage", "disk", tr("Storage")),
            Page("shortcuts", "terminal", tr("Shortcuts")),
            Page("about", "info", tr("About")),
        ],
        current,
        tr("Anneal Studio {version}", version=versions()["anneal-studio"]),
    )

    def go(key: object) -> None:
        if key == "doctor":
            context.navigate("doctor")
        else:
            context.navigate("settings", page=key)

    nav.picked.connect(go)
    return nav
