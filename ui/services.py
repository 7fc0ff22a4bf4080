"""Studio's objects for the window. The studio is opened when it is first asked for, so the first paint does not wait.

`home`, `settings` and `document` are light and may be used anywhere; everything else opens the studio and blocks: ask
for it inside `context.tasks.run`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from studio.home import Home
from studio.recipes.document import RecipeDocument
from studio.recipes.draft import Draft
from studio.settings import SettingsFile

if TYPE_CHECKING:
    from studio.app import Studio
    from studio.datasets.worker import DataWorker
    from studio.exports.service import ExportService
    from studio.generation import Generation
    from studio.hub.client import Hub
    from studio.machine import MachineSpec
    from studio.planning.service import PlanningService
    from studio.recipes.library import RecipeLibrary
    from studio.runs.service import RunService
    from studio.runs.store import RunStore

Opener = Callable[[Path], "Studio"]


def _open(root: Path) -> Studio:
    from studio.app import open_studio

    return open_studio(root)


class Services:
    """One home's services. Any thread may ask; `close` when the window is gone. `opener` is for tests."""

    def __init__(self, home: Home, opener: Opener = _open) -> None:
        self.home = home
        self.settings = SettingsFile(home.settings)
        self.draft = Draft(home.draft)
        self._opener = opener
        self._turn = threading.Lock()
        self._studio: Studio | None = None

    @cached_property
    def document(self) -> RecipeDocument:
        """The recipe that New run edits, as it was left. GUI thread only; reads one small file at first use."""
        return RecipeDocument(self.draft.load())

    @property
    def studio(self) -> Studio:
        """All of it, opened by the first who asks. Raises SurroundingsError where it cannot be."""
        with self._turn:
            if self._studio is None:
                self._studio = self._opener(self.home.root)
            return self._studio

    @property
    def store(self) -> RunStore:
        """Reads the history."""
        return self.studio.store

    @property
    def runs(self) -> RunService:
        """Launches, adopts and commands runs."""
        return self.studio.runs

    @property
    def datasets(self) -> DataWorker:
        """Previews and counts data in its own process."""
        return self.studio.datasets

    @property
    def planning(self) -> PlanningService:
        """Makes plans."""
        return self.studio.planning

    @property
    def exports(self) -> ExportService:
        """Starts exports."""
        return self.studio.exports

    @property
    def generation(self) -> Generation:
        """Starts answers of a run or a model."""
        return self.studio.generation

    @property
    def recipes(self) -> RecipeLibrary:
        """Recipes and presets on disk."""
        return self.studio.recipes

    def hub(self) -> Hub:
        """The Hub under the settings as they are now."""
        return self.studio.hub()

    def machine(self) -> MachineSpec:
        """This machine now."""
        return self.studio.machine()

    def close(self) -> None:
        """Close what was opened; engines and downloads go on."""
        with self._turn:
            if self._studio is not None:
                self._studio.close()
                self._studio = None
