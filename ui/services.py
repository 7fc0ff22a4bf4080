"""Studio's objects, each made when it is first asked for, so that the first paint waits for none of them.

Add a cached property here for each studio object that a view needs; views reach them as `context.services.NAME`.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

from studio.home import Home
from studio.settings import SettingsFile

if TYPE_CHECKING:
    from studio.runs.service import RunService
    from studio.runs.store import RunStore


class Services:
    """One home's services. Properties may be asked for from any thread; `close` when the window is gone."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.settings = SettingsFile(home.settings)
        self._turn = threading.RLock()

    @cached_property
    def store(self) -> RunStore:
        """Reads the history."""
        from studio.runs.store import RunStore

        with self._turn:
            return self.__dict__.get("store") or RunStore(self.home.history)

    @cached_property
    def runs(self) -> RunService:
        """Launches, adopts and commands runs."""
        from studio.runs.service import RunService

        with self._turn:
            return self.__dict__.get("runs") or RunService(self.home, self.store, self.settings.load)

    def close(self) -> None:
        """Close what was opened; runs go on."""
        for name in ("runs", "store"):
            opened = self.__dict__.get(name)
            if opened is not None:
                opened.close()
