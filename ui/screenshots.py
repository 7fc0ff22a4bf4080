"""Pictures of every screen: both themes, scale 1 and 2, and once in the pseudo-locale. `python -m ui.screenshots OUT`.

A screen adds a `Shot` to SHOTS: where to go, what to do there, and when it has settled.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QEventLoop, QPoint, QTimer
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from studio.home import find_home, open_home
from studio.recipes.library import DEMO
from ui.__main__ import build_window
from ui.component_sheet import ComponentSheet
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.tr import PseudoLocale
from ui.views.export import ExportView
from ui.views.live import LiveView
from ui.views.new_run import NewRunView
from ui.views.runs import RunsView

SIZE = (1440, 900)
SETTLE_SECONDS = 20.0


@dataclass(frozen=True)
class Shot:
    """One picture: `route` with `arguments`, then `prepare(window)`; taken when `settled(window)`."""

    name: str
    route: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    prepare: Callable[[MainWindow], None] = lambda window: None
    settled: Callable[[MainWindow], bool] = lambda window: window.context.tasks.idle


def _with_the_demo(window: MainWindow) -> None:
    """A recipe to plan, where the session has not chosen one."""
    services = window.context.services
    if services.document.recipe.model is None:
        services.document.replace(services.recipes.open(DEMO))


def _planned(window: MainWindow) -> bool:
    view = window.pages.current_view()
    return isinstance(view, NewRunView) and not view.session.pending and window.context.tasks.idle


def _predicted(window: MainWindow) -> bool:
    view = window.pages.current_view()
    shown = isinstance(view, ExportView) and (view.prediction is not None or view.empty.isVisible())
    return shown and window.context.tasks.idle


def _shows_a_run(window: MainWindow) -> bool:
    view = window.pages.current_view()
    shown = isinstance(view, LiveView) and (view.snapshot is not None or view.empty.isVisible())
    return shown and window.context.tasks.idle


def _compared(window: MainWindow) -> bool:
    """The newest three runs side by side, where there are two."""
    view = window.pages.current_view()
    if not isinstance(view, RunsView) or view.model.everything is None:
        return False
    for row in range(min(3, view.model.rowCount())):
        run = view.model.run_at(row)
        if run is not None and run.id not in view.model.ticked:
            view.model.toggle(run.id)
    there = view.compare.data is not None or len(view.model.ticked) < 2
    return there and window.context.tasks.idle


SHOTS: tuple[Shot, ...] = (
    Shot("01-model", "new", {"step": "model"}),
    Shot("02-data", "new", {"step": "data"}),
    Shot("03-plan", "new", {"step": "method", "level": "basic"}, _with_the_demo, _planned),
    Shot("10-advanced", "new", {"step": "method", "level": "advanced"}, _with_the_demo, _planned),
    Shot("04-live", "live", settled=_shows_a_run),
    Shot("05-compare", "runs", settled=_compared),
    Shot("07-export", "export", {}, lambda window: None, _predicted),
    Shot("08-doctor", "doctor"),
    Shot("08b-first-start", "welcome"),
    Shot("12-settings", "settings", {"page": "appearance"}),
    Shot("12b-hub-account", "settings", {"page": "account"}),
    Shot("12c-storage", "settings", {"page": "storage"}),
    Shot("12d-shortcuts", "settings", {"page": "shortcuts"}),
    Shot("12e-about", "settings", {"page": "about"}),
)


def picture(widget: QWidget, scale: float) -> QPixmap:
    """The widget as it would look on a screen of `scale` device pixels per logical pixel."""
    result = QPixmap(round(widget.width() * scale), round(widget.height() * scale))
    result.setDevicePixelRatio(scale)
    widget.render(result, QPoint())
    return result


def spin(milliseconds: int) -> None:
    """Let the window work for a while."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def settle(ready: Callable[[], bool]) -> None:
    """Wait until `ready`. Raises TimeoutError after 20 s: a picture of a half-made screen would lie."""
    deadline = time.monotonic() + SETTLE_SECONDS
    spin(150)
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"The screen did not settle in {SETTLE_SECONDS:.0f} s.")
        spin(50)
    spin(150)


def take(window: MainWindow, shots: Sequence[Shot], out: Path, suffix: str, scales: Sequence[float]) -> list[Path]:
    """Take `shots` of a shown window; returns what was written."""
    written = []
    for shot in shots:
        window.navigate(shot.route, **shot.arguments)
        shot.prepare(window)
        settle(lambda shot=shot: shot.settled(window))  # type: ignore[misc]  # mypy cannot type a default-bound lambda
        for scale in scales:
            path = out / f"{shot.name}-{suffix}{'' if scale == 1 else '@2x'}.png"
            if not picture(window, scale).save(str(path)):
                raise OSError(f"The picture {path} could not be written.")
            written.append(path)
    return written


def take_components(window: MainWindow, out: Path, suffix: str) -> Path:
    """The sheet of all components, in the theme in force."""
    sheet = ComponentSheet()
    sheet.resize(720, 1150)
    sheet.show()
    spin(50)
    path = out / f"09-components-{suffix}.png"
    picture(sheet, 1).save(str(path))
    sheet.close()
    sheet.deleteLater()
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures of one home and say where they are."""
    parser = argparse.ArgumentParser(prog="ui.screenshots", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--home", help="the home whose runs are shown")
    parser.add_argument("--only", default="", help="names that begin with this")
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    chosen.out.mkdir(parents=True, exist_ok=True)
    application = QApplication(sys.argv[:1])
    services = Services(open_home(find_home(chosen.home, os.environ)))
    take_all(application, services, chosen.out, chosen.only)
    services.close()
    return 0


def take_all(application: QApplication, services: Services, out: Path, only: str = "") -> None:
    """Every picture of one home: dark and light at scale 1 and 2, and the pseudo-locale once. Names each."""
    shots = [shot for shot in SHOTS if shot.name.startswith(only)]
    for pseudo in (False, True):
        locale = PseudoLocale()
        if pseudo:
            application.installTranslator(locale)
        window = build_window(application, services)
        window.resize(*SIZE)
        window.show()
        window.start()
        for theme in ("dark", "light") if not pseudo else ("dark",):
            window.context.appearance.choose("dark" if theme == "dark" else "light")
            suffix = "pseudo" if pseudo else theme
            for path in take(window, shots, out, suffix, (1, 2) if not pseudo else (1,)):
                print(path, flush=True)
            if not pseudo:
                print(take_components(window, out, suffix), flush=True)
        window.status_watch.active = {}  # the pictures are taken; nobody is there to be asked about closing
        window.close()
        application.removeTranslator(locale)


if __name__ == "__main__":
    sys.exit(main())
