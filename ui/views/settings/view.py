"""Settings: what a person sets for the app itself, page by page."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget

from ui.context import Command, Context
from ui.settings_pages import settings_nav
from ui.tr import tr
from ui.view import View
from ui.views.settings.about_page import AboutPage
from ui.views.settings.account_page import AccountPage
from ui.views.settings.appearance_page import AppearancePage
from ui.views.settings.page import SettingsPage
from ui.views.settings.shortcuts_page import ShortcutsPage
from ui.views.settings.storage_page import StoragePage


class SettingsView(View):
    """`arrive(page=…)`: appearance, account, storage, shortcuts, about; without it, the page shown last."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.pages: dict[str, SettingsPage] = {
            "appearance": AppearancePage(context),
            "account": AccountPage(context),
            "storage": StoragePage(context),
            "shortcuts": ShortcutsPage(context),
            "about": AboutPage(context),
        }
        self._names = {
            "appearance": tr("Appearance"), "account": tr("Hub account"), "storage": tr("Storage"),
            "shortcuts": tr("Shortcuts"), "about": tr("About"),
        }  # fmt: skip
        self._page = "appearance"
        self.nav = settings_nav(context, self._page)
        self.stack = QStackedWidget()
        self.stack.setProperty("pane", "page")
        for page in self.pages.values():
            self.stack.addWidget(page)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.nav)
        row.addWidget(self.stack, 1)

    def arrive(self, **arguments: object) -> None:
        """Show a page, with what is in force now."""
        page = arguments.get("page")
        if isinstance(page, str) and page in self.pages:
            self._page = page
        self.nav.select(self._page)
        self.stack.setCurrentWidget(self.pages[self._page])
        self.pages[self._page].read()
        self.crumbs_changed.emit()

    def crumbs(self) -> Sequence[str]:
        """Settings › the page."""
        return tr("Settings"), self._names[self._page]

    def commands(self) -> Sequence[Command]:
        """Every page by name."""
        return [
            Command(tr("Settings: {page}", page=name), lambda key=key: self.arrive(page=key), icon="gear")  # type: ignore[misc]  # mypy cannot type a default-bound lambda
            for key, name in self._names.items()
        ]
