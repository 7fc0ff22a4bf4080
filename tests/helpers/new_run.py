"""A window whose New run screen has the pages under test, over a real studio and a Hub on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from studio.home import open_home
from studio.settings import Settings, SettingsFile
from tests.helpers.hub_server import HubServer
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.context import Context
from ui.routes import destinations
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.shell.wizard import Wizard
from ui.view import View, WizardPage
from ui.views.new_run.plan_session import PlanSession

PageMaker = Callable[[Context, PlanSession], WizardPage]
SIZE = (1440, 900)


class OnePage(Wizard):
    """A wizard with one step."""

    def __init__(self, context: Context, make: PageMaker) -> None:
        self.session = PlanSession(context)
        super().__init__(context, [("only", "Only", lambda given: make(given, self.session))])

    def arrive(self, **arguments: object) -> None:
        super().arrive(**arguments)
        self.session.refresh()

    def shutdown(self) -> None:
        super().shutdown()
        self.session.close()


def open_page(root: Path, appearance: Appearance, make: PageMaker, **settings: object) -> MainWindow:
    """A shown window on a page, over the home at `root`; the caller closes window and `context.services`."""
    home = open_home(root / "home")
    SettingsFile(home.settings).save(Settings(**settings))  # type: ignore[arg-type]  # msgspec checks the names
    services = Services(home)

    def new_run(context: Context) -> View:
        return OnePage(context, make)

    places = [place for place in destinations({}) if place.route == "new"]
    window = MainWindow(appearance, Tasks(), services, places, {"new": new_run})
    window.resize(*SIZE)
    window.show()
    window.activateWindow()
    return window


def hub_settings(root: Path, server: HubServer) -> dict[str, object]:
    """Settings that point at a Hub on this machine and at folders below `root`."""
    return {"hub_endpoint": server.endpoint, "hub_home": str(root / "hf"), "hub_cache": str(root / "cache")}


def page_of(window: MainWindow) -> WizardPage:
    """The one page of the wizard in view."""
    view = window.pages.view("new")
    assert isinstance(view, Wizard)
    return view.pages[0]


def text_of(widget: QWidget) -> str:
    """Every visible word below a widget, for looking whether something is said."""
    from PySide6.QtWidgets import QAbstractButton, QLabel

    labels = [w.text() for w in widget.findChildren(QLabel) if w.isVisible()]
    buttons = [w.text() for w in widget.findChildren(QAbstractButton) if w.isVisible()]
    return "\n".join([*labels, *buttons])
