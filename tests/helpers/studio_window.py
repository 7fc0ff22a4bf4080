"""The whole window over a home, with the real studio and a stand-in engine, driven as a person does."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.app import Studio, open_studio
from studio.errors import SurroundingsError
from studio.home import open_home
from tests.helpers.plans import plan_for, small_recipe
from tests.helpers.qt_walk import find, name_of
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.routes import destinations, factories
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.widgets.dialog import ConfirmDialog

FAKE_ENGINE = (sys.executable, str(Path(__file__).resolve().parent / "fake_engine.py"))


class Bench:
    """One home and the windows that are opened over it. `engine` None is the real one."""

    def __init__(self, qtbot: QtBot, appearance: Appearance, root: Path, engine: Sequence[str] | None) -> None:
        self._qtbot, self._appearance, self.root, self._engine = qtbot, appearance, root, engine
        self._open: list[tuple[MainWindow, Services]] = []

    def window(self, route: str = "live", **arguments: object) -> MainWindow:
        """A shown window that watches its home."""
        engine = {} if self._engine is None else {"engine_command": list(self._engine)}
        services = Services(open_home(self.root), opener=lambda root: open_studio(root, **engine))  # type: ignore[arg-type]  # one optional argument
        window = MainWindow(self._appearance, Tasks(), services, destinations({}), factories())
        self._qtbot.addWidget(window, before_close_func=_ask_nobody)
        window.resize(1440, 900)
        window.show()
        window.start()
        window.navigate(route, **arguments)
        self._open.append((window, services))
        return window

    def studio(self, window: MainWindow) -> Studio:
        """The studio of a window."""
        return window.context.services.studio

    def options(self, **values: object) -> None:
        """What the fake engine shall do from now on."""
        self.root.mkdir(exist_ok=True)
        (self.root / "fake.json").write_text(json.dumps(values))

    def launch(self, window: MainWindow, token: str = "once", name: str | None = None, **settings: object) -> str:
        """Launch as the last step of New run does."""
        recipe = small_recipe(self.root, **settings)
        run = self.studio(window).runs.launch(recipe, plan_for(recipe), token=token, name=name)
        window.watch.now()
        return run

    def until(self, condition: Callable[[], bool], seconds: float = 30.0) -> None:
        """Let the window work until the condition holds."""
        self._qtbot.waitUntil(condition, timeout=round(seconds * 1000))

    def status(self, window: MainWindow, run: str, *statuses: str) -> None:
        """Wait until the history says so."""
        store = self.studio(window).store
        self.until(lambda: any(row.id == run and row.status in statuses for row in store.runs()))

    def close(self, window: MainWindow, answer: str | None = None) -> list[str]:
        """Close a window, pressing `answer` in the question. Returns the buttons of the question, if there was one."""
        seen: list[str] = []
        timer = QTimer(window)

        def press() -> None:
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, ConfirmDialog):
                timer.stop()
                seen.extend(name_of(button) for button in dialog.buttons.values())
                find(dialog, QPushButton, str(answer)).click()

        timer.timeout.connect(press)
        if answer is not None:
            timer.start(20)
        window.close()
        timer.stop()
        if not window.isVisible():
            self._let_go(window)
        return seen

    def _let_go(self, window: MainWindow) -> None:
        for opened, services in self._open:
            if opened is window:
                services.close()
        self._open = [pair for pair in self._open if pair[0] is not window]

    def shut(self) -> None:
        """End engines and windows after a test."""
        for window, services in list(self._open):
            _ask_nobody(window)
            window.close()
            services.close()
        studio = open_studio(self.root)
        for path in studio.home.runs.iterdir():
            with contextlib.suppress(SurroundingsError):
                studio.runs.end_now(path.name, patience_seconds=0.2)
        studio.close()


def _ask_nobody(window: QWidget) -> None:
    """The test is over: nobody is there to answer the question of closing."""
    assert isinstance(window, MainWindow)
    window.status_watch.active = {}


@contextlib.contextmanager
def bench_over(
    qtbot: QtBot, appearance: Appearance, root: Path, engine: Sequence[str] | None = FAKE_ENGINE
) -> Iterator[Bench]:
    """A bench that is cleared up."""
    bench = Bench(qtbot, appearance, root, engine)
    yield bench
    bench.shut()


def written(root: Path, run: str, event: str, field: str) -> list[tuple[int, float | None]]:
    """(step, value) of every event of a kind, straight from events.jsonl."""
    found = []
    for line in (root / "runs" / run / "events.jsonl").read_bytes().splitlines():
        content = msgspec.json.decode(line, type=dict[str, object])
        if content["event"] == event:
            found.append((content["step"], content[field]))
    return found  # type: ignore[return-value]  # what the test's own event holds
