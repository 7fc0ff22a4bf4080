"""The composition root: everything is wired here, once.

python -m ui [--home DIR] [--go ROUTE] [--pseudo]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from studio.home import Home, find_home, open_home
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.crash import install
from ui.display import missing_display
from ui.routes import destinations, factories
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.tr import PseudoLocale
from ui.wording import ProblemLike, words_for


def build_window(application: QApplication, services: Services) -> MainWindow:
    """The window over the services of one home, not yet shown."""
    settings = services.settings.load()
    appearance = Appearance(
        application,
        settings.theme,
        scale=settings.text_size / 100,
        patterns=settings.patterns_in_bars,
        reduce_motion=settings.reduce_motion,
    )
    return MainWindow(appearance, Tasks(), services, destinations(settings.shortcuts), factories())


def first_screen(home: Home) -> str:
    """Until the first launch, what this machine can do; afterwards a new run."""
    return "new" if any(home.runs.iterdir()) else "welcome"


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the window and run until it closes. Returns the exit status: 2 without a display or with a bad home."""
    parser = argparse.ArgumentParser(prog="anneal-studio", description="The window of Anneal Studio.")
    parser.add_argument("--home", help="the folder that everything is kept in")
    parser.add_argument("--go", default="", help="the screen to open: new, live, runs, export, doctor, settings")
    parser.add_argument("--pseudo", action="store_true", help="show every text accented and 30 %% longer")
    chosen = parser.parse_args(arguments)
    trouble = missing_display(os.environ)
    if trouble:
        print(trouble, file=sys.stderr)
        return 2
    application = QApplication(sys.argv[:1])
    application.setApplicationName("Anneal Studio")
    if chosen.pseudo:
        application.installTranslator(PseudoLocale(application))
    try:
        services = Services(open_home(find_home(chosen.home, os.environ)))
        window = build_window(application, services)
    except Exception as error:
        if not isinstance(error, ProblemLike):
            raise
        print(words_for(error), file=sys.stderr)
        return 2
    install(window.say)
    window.show()
    QTimer.singleShot(0, window.start)
    window.navigate(chosen.go or first_screen(services.home))
    status = application.exec()
    sys.excepthook = sys.__excepthook__
    services.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
