"""A home, a Hub on this machine, and a person at a real window."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget
from pytestqt.qtbot import QtBot

import studio.hub.session as hub_session
from studio.app import open_studio
from studio.errors import SurroundingsError
from studio.home import open_home
from studio.settings import SettingsFile
from tests.helpers.hub_server import HubServer
from tests.helpers.person import Person, Sit
from ui.__main__ import build_window, first_screen
from ui.services import Services
from ui.shell.main_window import MainWindow

SIZE = (1440, 900)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines take one core."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The home; whatever still runs in it ends with the test."""
    home = tmp_path / "home"
    open_home(home)
    yield home
    end_engines(home)


def end_engines(home: Path) -> None:
    """End every run of a home that is still alive."""
    studio = open_studio(home)
    for path in studio.home.runs.iterdir():
        with contextlib.suppress(SurroundingsError):
            studio.runs.end_now(path.name, patience_seconds=0.5)
    studio.close()


@pytest.fixture
def hub(root: Path, tmp_path: Path) -> Iterator[HubServer]:
    """A Hub that the home's settings name: `huggingface_hub` reads HF_ENDPOINT once, when it is imported."""
    hub_session.install()
    with HubServer() as server:
        settings = SettingsFile(open_home(root).settings)
        settings.change(hub_endpoint=server.endpoint, hub_cache=str(tmp_path / "cache"))
        yield server
        close_session()


@pytest.fixture
def sit(qtbot: QtBot, qapp: QApplication, root: Path, tmp_path: Path) -> Iterator[Sit]:
    """Opens windows over the home as the program does, and closes what is left of them."""
    opened: list[tuple[MainWindow, Services]] = []
    strays = StrayWindows()
    qapp.installEventFilter(strays)

    def make() -> Person:
        services = Services(open_home(root))
        window = build_window(qapp, services)
        qtbot.addWidget(window, before_close_func=_ask_nobody)
        opened.append((window, services))
        window.resize(*SIZE)
        window.show()
        window.start()
        window.navigate(first_screen(services.home))
        window.activateWindow()
        QTest.qWaitForWindowActive(window)
        return Person(qtbot, window, root, tmp_path)

    yield make
    for window, services in opened:
        _ask_nobody(window)
        window.close()
        services.close()
    qapp.removeEventFilter(strays)
    assert not strays.seen, f"parts of screens that were windows of their own for a moment: {strays.seen}"


class StrayWindows(QObject):
    """Notices a widget that is shown before it has its parent: it flashes up, and takes the focus from the window."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remember what is no window; never stop an event."""
        if event.type() != QEvent.Type.Show or not isinstance(watched, QWidget) or not watched.isWindow():
            return False
        if watched.windowType() in _PLAIN and not isinstance(watched, QMainWindow):
            self.seen.append(f"{type(watched).__name__} {watched.accessibleName()}")
        return False


_PLAIN = (Qt.WindowType.Widget, Qt.WindowType.Window)


def _ask_nobody(window: QWidget) -> None:
    """The test is over: nobody is there to answer the question of closing."""
    assert isinstance(window, MainWindow)
    window.status_watch.active = {}
