"""Asks the run service for news some times a second, off the GUI thread, and tells the views what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from ui.bridge import Control, Repeat, Tasks
from ui.services import Services

if TYPE_CHECKING:
    from studio.runs.ingest import Changes

INTERVAL_MILLISECONDS = 200


class RunWatch(QObject):
    """`changed` carries a Changes (ids of changed and removed runs), only when there is something in it."""

    changed = Signal(object)

    def __init__(self, tasks: Tasks, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks, self._services = tasks, services
        self._repeat: Repeat | None = None

    def start(self) -> None:
        """Begin; once the window has been painted."""
        self._repeat = self._tasks.every(INTERVAL_MILLISECONDS, self._refresh, self._told, self)

    def now(self) -> None:
        """Look at once: after a command, so that its effect shows without waiting."""
        if self._repeat is not None:
            self._repeat.now()

    def stop(self) -> None:
        """No more."""
        if self._repeat is not None:
            self._repeat.stop()

    def _refresh(self, control: Control) -> Changes:
        return self._services.runs.refresh()

    def _told(self, changes: Changes) -> None:
        if changes:
            self.changed.emit(changes)
