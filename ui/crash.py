"""An exception that nobody expected: it is logged, told, and can be copied; the window goes on."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from types import TracebackType

from PySide6.QtGui import QGuiApplication

from ui.tr import tr
from ui.widgets.toast import Message

_log = logging.getLogger(__name__)


def report_of(error: BaseException) -> str:
    """What is copied: the versions and the traceback. No names, tokens or paths of the user's are added."""
    from importlib.metadata import version

    head = f"Anneal Studio {version('anneal-studio')}, Python {sys.version.split()[0]}, {sys.platform}"
    return head + "\n\n" + "".join(traceback.format_exception(error))


def install(say: Callable[[Message], object]) -> None:
    """From now on an exception in a slot or an event handler ends in a toast."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        _log.error("An unexpected error in the window.", exc_info=(kind, error, trace))
        report = report_of(error)
        title = tr("Something went wrong inside the app.")
        fact = tr("Your runs are not touched. {kind}: {text}", kind=kind.__name__, text=str(error)[:160])
        say(Message("bad", title, fact, tr("Copy report"), lambda: QGuiApplication.clipboard().setText(report)))

    sys.excepthook = hook
