"""No thread and no Qt timer may outlive the test that started it."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

_PATIENCE_SECONDS = 2.0
_OTHERS_THREADS = {  # by class
    "TMonitor": "tqdm keeps one for the whole process",
}


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fail when a thread that was started during the test is still alive shortly after it."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + _PATIENCE_SECONDS
    started = [thread for thread in threading.enumerate() if thread not in before]
    for thread in started:
        thread.join(max(0.0, deadline - time.monotonic()))
    left = [t for t in started if t.is_alive() and type(t).__name__ not in _OTHERS_THREADS]
    assert not left, f"threads outlived the test: {left}"


@pytest.fixture(autouse=True)
def no_timer_left(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail when a QTimer is still active, or a QThread still running, once the test's widgets are gone."""
    if not {"qtbot", "qapp"} & set(request.fixturenames):
        yield
        return
    from PySide6.QtCore import QCoreApplication, QEvent, QThread, QTimer
    from shiboken6 import isValid

    timers, threads = _remember_started(QTimer, monkeypatch), _remember_started(QThread, monkeypatch)
    yield
    # pytest-qt has closed the widgets; what deleteLater() promised is carried out here.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    active = [timer for timer in timers if isValid(timer) and timer.isActive()]
    running = [thread for thread in threads if isValid(thread) and not thread.wait(int(_PATIENCE_SECONDS * 1000))]
    for timer in active:
        timer.stop()  # so that it disturbs no later test
    assert not active, f"timers outlived the test: {active}, parents {[timer.parent() for timer in active]}"
    assert not running, f"QThreads outlived the test: {running}"


def _remember_started(kind: Any, monkeypatch: pytest.MonkeyPatch) -> weakref.WeakSet[Any]:  # Any: QTimer or QThread
    started: weakref.WeakSet[Any] = weakref.WeakSet()  # Any: as above
    start = kind.start

    def remembering(self: Any, *arguments: Any) -> None:  # Any: as above
        started.add(self)
        start(self, *arguments)

    monkeypatch.setattr(kind, "start", remembering)
    return started


def pytest_sessionfinish() -> None:
    """Close the application before the interpreter tears modules down in an order of its own."""
    widgets = sys.modules.get("PySide6.QtWidgets")
    application = widgets.QApplication.instance() if widgets else None
    if application is not None:
        application.closeAllWindows()
