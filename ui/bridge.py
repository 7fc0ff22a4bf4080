"""The only place where work on other threads becomes something that Qt sees.

A view asks `Tasks.run(work, …)`; `work(control)` runs on a worker thread and returns a value; the callbacks run on the
GUI thread, never after their owner is gone. `touches` names what the work changed ("runs", "settings", …);
`Tasks.changed` tells it to every view, and each decides for itself whether to read again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Cancelled(Exception):
    """Raised inside a work function by `Control.check` after the view lost interest."""


class Control:
    """What a work function holds of its task: cancellation in, progress out."""

    def __init__(self, report: Callable[[object], None]) -> None:
        self._report = report
        self._cancel = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether the view has lost interest."""
        return self._cancel.is_set()

    def check(self) -> None:
        """Raise Cancelled if the view has lost interest."""
        if self.cancelled:
            raise Cancelled

    def progress(self, value: object) -> None:
        """Hand a progress value to the view."""
        if not self.cancelled:
            self._report(value)

    def cancel(self) -> None:
        """Ask the work to end; its result will not be delivered."""
        self._cancel.set()


class Task(QObject):
    """One piece of work under way. Lives on the GUI thread."""

    _message = Signal(str, object)

    def __init__(
        self,
        owner: QObject | None,
        on_result: Callable[[object], None],
        on_error: Callable[[Exception], None] | None,
        on_progress: Callable[[object], None] | None,
        on_end: Callable[[], None],
    ) -> None:
        super().__init__()
        self.control = Control(lambda value: self._message.emit("progress", value))
        self.running = True
        self._has_owner, self._owner = owner is not None, owner
        self._on_result, self._on_error, self._on_progress, self._on_end = on_result, on_error, on_progress, on_end
        self._message.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def cancel(self) -> None:
        """Lose interest: nothing of this task is delivered any more."""
        self.control.cancel()

    def execute(self, work: Callable[[Control], object]) -> None:
        """Run the work; called on the worker thread."""
        try:
            self.control.check()
            result = work(self.control)
        except Cancelled:
            self._message.emit("cancelled", None)
        except Exception as error:  # whatever it is, it belongs to the view, not to the thread
            self._message.emit("error", error)
        else:
            self._message.emit("result", result)

    def _deliver(self, kind: str, value: object) -> None:
        wanted = not self.control.cancelled and not (self._has_owner and not shiboken6.isValid(self._owner))
        if kind != "progress":
            self.running = False
            self._on_end()
        if not wanted:
            return
        if kind == "result":
            self._on_result(value)
        elif kind == "progress" and self._on_progress:
            self._on_progress(value)
        elif kind == "error" and isinstance(value, Exception):
            if self._on_error:
                self._on_error(value)
            else:
                _log.error("A task failed and nobody asked for its error.", exc_info=value)


class Tasks(QObject):
    """Runs work off the GUI thread. `changed` carries a frozenset of what finished work has touched."""

    changed = Signal(object)

    def __init__(self, parent: QObject | None = None, workers: int = 4) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="studio-task")
        self._tasks: set[Task] = set()
        self._repeats: list[Repeat] = []

    def run(
        self,
        work: Callable[[Control], T],
        *,
        owner: QObject | None = None,
        on_result: Callable[[T], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
        on_progress: Callable[[object], None] | None = None,
        touches: Iterable[str] = (),
    ) -> Task:
        """Start `work`; callbacks run on the GUI thread unless `owner` was destroyed or the task cancelled."""
        touched = frozenset(touches)

        def deliver(result: object) -> None:
            if on_result:
                on_result(cast("T", result))
            if touched:
                self.changed.emit(touched)

        task = Task(owner, deliver, on_error, on_progress, lambda: self._tasks.discard(task))
        self._tasks.add(task)
        self._pool.submit(task.execute, work)
        return task

    def every(
        self, milliseconds: int, work: Callable[[Control], T], on_result: Callable[[T], None], owner: QObject
    ) -> Repeat:
        """Run `work` again and again off the GUI thread until `owner` is gone; never two at once."""
        repeat = Repeat(lambda: self.run(work, owner=owner, on_result=on_result), milliseconds, owner)
        self._repeats.append(repeat)
        return repeat

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._tasks

    def close(self) -> None:
        """Cancel everything and wait for the threads; afterwards `run` raises RuntimeError."""
        for repeat in self._repeats:
            repeat.stop()
        for task in list(self._tasks):
            task.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._tasks.clear()


class Latest:
    """Latest request wins: a new request cancels the one before it, whose result is never delivered.

    With `delay` milliseconds, requests that follow each other faster (typing) are not even started.
    """

    def __init__(self, tasks: Tasks, owner: QObject, delay: int = 0) -> None:
        self._tasks = tasks
        self._owner = owner
        self._task: Task | None = None
        self._start: Callable[[], Task] | None = None
        self._timer = QTimer(owner)
        self._timer.setSingleShot(True)
        self._timer.setInterval(delay)
        self._timer.timeout.connect(self._go)

    def request(
        self,
        work: Callable[[Control], T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None] | None = None,
        on_progress: Callable[[object], None] | None = None,
    ) -> None:
        """Ask for `work`; whatever was asked before is forgotten."""
        self.cancel()
        self._start = lambda: self._tasks.run(
            work, owner=self._owner, on_result=on_result, on_error=on_error, on_progress=on_progress
        )
        if self._timer.interval():
            self._timer.start()
        else:
            self._go()

    def cancel(self) -> None:
        """Forget what was asked."""
        self._timer.stop()
        self._start = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    @property
    def pending(self) -> bool:
        """Whether an answer is still to come."""
        return self._start is not None or (self._task is not None and self._task.running)

    def _go(self) -> None:
        if self._start is not None:
            self._task, self._start = self._start(), None


class Repeat:
    """Work that is done again and again; skips a beat while the last one is still under way."""

    def __init__(self, start: Callable[[], Task], milliseconds: int, owner: QObject) -> None:
        self._start = start
        self._task: Task | None = None
        self._timer = QTimer(owner)
        self._timer.setInterval(milliseconds)
        self._timer.timeout.connect(self.now)
        self._timer.start()
        self.now()

    def now(self) -> None:
        """Do it at once, unless it is being done."""
        if self._task is None or not self._task.running:
            self._task = self._start()

    def stop(self) -> None:
        """Never again, and drop what is under way."""
        if shiboken6.isValid(self._timer):
            self._timer.stop()
        if self._task is not None:
            self._task.cancel()
