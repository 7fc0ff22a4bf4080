"""A home, a store and a run service whose engine is the fake one."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.protocol.errors import SurroundingsError
from studio.home import Home, open_home
from studio.runs.service import RunService
from studio.runs.store import RunStore
from studio.settings import SettingsFile
from tests.helpers.plans import plan_for, small_recipe

FAKE_ENGINE = [sys.executable, str(Path(__file__).resolve().parents[2] / "helpers" / "fake_engine.py")]


@dataclass
class Workshop:
    """One window's worth of objects over a home."""

    home: Home
    store: RunStore
    runs: RunService

    def options(self, **values: object) -> None:
        """What the fake engine shall do from now on."""
        (self.home.root / "fake.json").write_text(json.dumps(values))

    def launch(self, token: str = "once", **settings: object) -> str:
        recipe = small_recipe(self.home.root, **settings)
        return self.runs.launch(recipe, plan_for(recipe), token=token)

    def until(self, condition: Callable[[], bool], seconds: float = 20.0) -> None:
        """Refresh until the condition holds; fail after the time."""
        deadline = time.monotonic() + seconds
        while True:
            self.runs.refresh()
            if condition():
                return
            assert time.monotonic() < deadline, [
                (row.id, row.status, row.step, row.reason) for row in self.store.runs()
            ] + [path.read_text()[-2000:] for path in self.home.runs.glob("*/engine.log")]
            time.sleep(0.02)

    def until_status(self, run_id: str, *statuses: str) -> None:
        def reached() -> bool:
            return self.store.count() > 0 and self.store.run(run_id).status in statuses

        self.until(reached)

    def close(self) -> None:
        self.runs.close()
        self.store.close()


@pytest.fixture
def open_workshop(tmp_path: Path) -> Iterator[Callable[[], Workshop]]:
    """Opens windows over one home; all are closed, and all engines ended, after the test."""
    opened: list[Workshop] = []

    def opens() -> Workshop:
        home = open_home(tmp_path / "home")
        store = RunStore(home.history)
        runs = RunService(home, store, SettingsFile(home.settings).load, engine_command=FAKE_ENGINE)
        opened.append(Workshop(home, store, runs))
        return opened[-1]

    yield opens
    home = open_home(tmp_path / "home")
    last = opens()
    for path in home.runs.iterdir():
        with contextlib.suppress(SurroundingsError):  # the test said that it is another host's
            last.runs.end_now(path.name, patience_seconds=0.2)
    for workshop in opened:
        workshop.close()


@pytest.fixture
def workshop(open_workshop: Callable[[], Workshop]) -> Workshop:
    return open_workshop()
