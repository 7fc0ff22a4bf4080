"""All of the studio over one home, put together. The window's composition root and the command line both begin here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.models import registry
from engine.planner.machine import MachineSpec
from studio.datasets.worker import DataWorker
from studio.environment import child_environment
from studio.exports.service import ExportService
from studio.generation import Generation
from studio.home import Home, find_home, open_home
from studio.hub.client import Hub
from studio.machine.probe import probe
from studio.machine.rates import RatesFile
from studio.planning.service import PlanningService
from studio.recipes.library import RecipeLibrary
from studio.runs.service import ENGINE_COMMAND, RunService
from studio.runs.store import RunStore
from studio.settings import Settings, SettingsFile


@dataclass
class Studio:
    """Plain parts over one home. Construct by `open_studio`; `close` when done (engines and downloads go on)."""

    home: Home
    settings: SettingsFile
    store: RunStore
    runs: RunService
    datasets: DataWorker
    planning: PlanningService
    exports: ExportService
    generation: Generation
    recipes: RecipeLibrary
    rates: RatesFile
    hubs: HubUnderSettings

    def hub(self) -> Hub:
        """The Hub under the settings as they are now."""
        return self.hubs.current()

    def machine(self) -> MachineSpec:
        """This machine now, with measured rates where there are some."""
        return self.rates.apply(probe(self.home.runs))

    def close(self) -> None:
        self.datasets.close()
        self.runs.close()
        self.store.close()
        self.hubs.close()


@dataclass
class HubUnderSettings:
    """One `Hub` for as long as the settings stay the same."""

    home: Home
    settings: SettingsFile
    _made: tuple[Settings, Hub] | None = field(default=None)

    def current(self) -> Hub:
        settings = self.settings.load()
        if self._made is None or self._made[0] != settings:
            self.close()
            self._made = (settings, Hub(self.home, settings, registry))
        return self._made[1]

    def close(self) -> None:
        if self._made is not None:
            self._made[1].close()
            self._made = None


def open_studio(
    home: Path | str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    engine_command: Sequence[str] = ENGINE_COMMAND,
) -> Studio:
    """Open (and if need be create) the home and put everything together. Nothing is started and no network is asked.

    Args:
        home: the `--home` option; None: ANNEAL_HOME, else the user's data folder.
        engine_command: what engine commands are appended to; tests give a stand-in.

    Raises SurroundingsError: "home.unwritable", "home.newer", "home.unreadable".
    """
    opened = open_home(find_home(home, environment))
    settings = SettingsFile(opened.settings)
    hubs = HubUnderSettings(opened, settings)
    store = RunStore(opened.history)

    def children() -> dict[str, str]:
        return child_environment(environment, settings.load(), home=opened.root)

    def exports_folder() -> Path:
        chosen = settings.load().export_folder
        return Path(chosen).expanduser() if chosen else opened.exports

    rates = RatesFile(opened, children, engine_command)
    datasets = DataWorker(children, opened.logs / "data.log")
    return Studio(
        home=opened,
        settings=settings,
        store=store,
        runs=RunService(opened, store, settings.load, environment=environment, engine_command=engine_command),
        datasets=datasets,
        planning=PlanningService(hubs.current, datasets, lambda: rates.apply(probe(opened.runs)), opened.tokens_cache),
        exports=ExportService(opened, store, children, exports_folder, engine_command),
        generation=Generation(opened, children, engine_command),
        recipes=RecipeLibrary(opened.recipes),
        rates=rates,
        hubs=hubs,
    )
