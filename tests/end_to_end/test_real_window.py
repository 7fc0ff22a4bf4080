"""The program itself in a real window under X, driven by xdotool: launched, closed, killed and opened again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from studio.home import Home, open_home
from studio.recipes import DatasetRef, ModelRef, Recipe
from studio.recipes.draft import Draft
from studio.settings import SettingsFile
from tests.helpers.hub_server import HubServer
from tests.helpers.person import Sit, tails
from tests.helpers.studio_window import written
from tests.helpers.tiny_models import write_tiny_llama
from tests.helpers.tiny_runs import ROOT, write_rows
from tests.helpers.x_server import x_server, xdotool
from ui.views.live import LiveView

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="x11: only Linux has Xvfb")
RESIDENT_GUARD_BYTES = 300 << 20
"""Generous: the promise is 200 MB and is measured by tests/benchmarks/window_start.py."""


@dataclass
class Screen:
    """A window of the program on an X server."""

    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    report: Path
    root: Path
    log: Path

    def key(self, *keys: str) -> None:
        """Press keys, to whatever has the focus."""
        xdotool(self.environment, "key", "--clearmodifiers", *keys)

    def windows(self, title: str) -> list[str]:
        """The visible windows of this title."""
        done = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--name", title],
            env=self.environment, capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
        return done.stdout.split()

    def until(self, condition: Callable[[], object], what: str, seconds: float = 60.0, every: float = 0.1) -> None:
        """Look again and again. Raises AssertionError with what program and engines said."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                subprocess.run(["import", "-window", "root", str(self.log.with_suffix(".png"))], env=self.environment,
                               check=False, capture_output=True)  # fmt: skip
                said = self.log.read_text(errors="replace")[-3000:]
                raise AssertionError(f"Waited {seconds:.0f} s for: {what}\n{said}\n{tails(self.root)}")
            time.sleep(every)

    def close(self) -> bool:
        """Close the window as the window manager does. Whether it asked first; Enter keeps what trains training."""
        question = "^Close the window while a run trains"
        self.key("alt+F4")
        self.until(lambda: self.process.poll() is not None or self.windows(question), "the window to close or to ask")
        asked = self.windows(question)
        if asked:
            xdotool(self.environment, "windowfocus", "--sync", asked[0])
            self.key("Return")
        assert self.process.wait(30) == 0
        return bool(asked)


@contextmanager
def program(environment: dict[str, str], home: Home, *arguments: str) -> Iterator[Screen]:
    """The program's process with its window up and in front."""
    report, log = home.root.parent / "report.json", home.root.parent / "window.log"
    report.unlink(missing_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.watched_window", str(report), "--home", str(home.root), *arguments],
            cwd=ROOT, env=environment, stdout=output, stderr=output,
        )  # fmt: skip
    screen = Screen(environment, process, report, home.root, log)
    try:
        screen.until(report.exists, "the first paint")
        screen.until(lambda: screen.windows("^Anneal Studio$"), "the window")
        xdotool(environment, "windowactivate", "--sync", screen.windows("^Anneal Studio$")[0])
        yield screen
    finally:
        process.kill()
        process.wait(10)


def prepare(root: Path, folder: Path, **settings: object) -> Recipe:
    """What stands on the form when the window opens: a model and data on this disk."""
    model, data = folder / "model", folder / "questions.jsonl"
    if not model.exists():
        write_tiny_llama(model)
        write_rows(data)
    recipe = Recipe(
        model=ModelRef(source="folder", path=str(model)), datasets=(DatasetRef(str(data)),), sequence_length=48,
        gradient_accumulation_steps=1, threads=1, **settings,  # type: ignore[arg-type]  # the tests name real keys
    )  # fmt: skip
    draft = Draft(open_home(root).draft)
    draft.remember(recipe)
    draft.write()
    return recipe


def runs(home: Home) -> list[str]:
    return sorted(path.name for path in home.runs.iterdir() if not path.name.startswith("."))


def launch(screen: Screen, home: Home) -> str:
    """Next, Next, Launch by their keys. Keys that come too early do nothing, and those that come too late neither."""
    before = runs(home)

    def launched() -> bool:
        screen.key("ctrl+Return", "ctrl+shift+Return")
        return len(runs(home)) > len(before)

    screen.until(launched, "a run", every=0.5)
    screen.key("ctrl+shift+Return")
    (run,) = set(runs(home)) - set(before)
    return run


def kinds(home: Home, run: str) -> list[str]:
    """The names of all whole events of a run."""
    events = home.run(run).events
    text = events.read_bytes() if events.exists() else b""
    return [json.loads(line)["event"] for line in text.split(b"\n")[:-1]]


def press_for(screen: Screen, home: Home, run: str, keys: str, kind: str) -> None:
    """Press keys until the engine answers with such an event; only once where they are heard at once."""
    pressed = -5.0

    def answered() -> bool:
        nonlocal pressed
        if kind in kinds(home, run):
            return True
        if time.monotonic() - pressed > 5 and screen.process.poll() is None:
            pressed = time.monotonic()
            screen.key(keys)
        return False

    screen.until(answered, f"{kind} after {keys}")


def step(home: Home, run: str) -> int:
    return kinds(home, run).count("StepCompleted")


def test_a_run_by_keys_in_a_real_window_that_imports_nothing_heavy(root: Path, tmp_path: Path) -> None:
    home = open_home(root)
    prepare(root, tmp_path, maximum_steps=6, epochs=2.0)
    with HubServer() as hub, x_server() as environment:
        hub.add_model("acme/tiny-llama", write_tiny_llama(tmp_path / "published"))
        with program({**environment, "HF_ENDPOINT": hub.endpoint}, home, "--go", "new") as screen:
            screen.key("ctrl+f")
            xdotool(environment, "type", "llama")
            screen.until(lambda: any("search=llama" in r.query for r in hub.requests), "the search, at HF_ENDPOINT")
            run = launch(screen, home)
            screen.until(lambda: "RunFinished" in kinds(home, run), "the run to finish")
            assert runs(home) == [run], "pressed again and again, launched once"
            for keys in ("ctrl+3", "ctrl+5", "ctrl+6", "ctrl+comma", "ctrl+2"):
                screen.key(keys)
            written_before = screen.report.stat().st_mtime_ns
            screen.close()  # asks where it has not heard of the end yet
            assert screen.report.stat().st_mtime_ns > written_before
            report = json.loads(screen.report.read_text())
    print(report)
    assert report["heavy"] == [] and report["modules"] > 300
    assert report["first_paint_seconds"] > 0
    assert report["resident_bytes"] < RESIDENT_GUARD_BYTES


@pytest.mark.scenario("S1")
@pytest.mark.scenario("S7")
def test_closed_killed_and_opened_again_over_a_live_run(sit: Sit, root: Path, tmp_path: Path) -> None:
    home = open_home(root)
    SettingsFile(home.settings).change(hub_offline=True)
    recipe = prepare(root, tmp_path, maximum_steps=50_000, epochs=10_000.0, learning_rate=3e-4, lora_rank=8)
    with x_server() as environment:
        with program(environment, home, "--go", "new") as screen:
            run = launch(screen, home)
            screen.until(lambda: step(home, run) >= 5, "steps")
            assert screen.close(), "it asks while a run trains"
        with program(environment, home, "--go", "live") as screen:
            press_for(screen, home, run, "ctrl+p", "RunPaused")
            press_for(screen, home, run, "ctrl+p", "RunUnpaused")
            screen.until(lambda: step(home, run) >= 50, "step 50")
            os.kill(screen.process.pid, signal.SIGKILL)
            screen.process.wait(10)
    at = step(home, run)
    person = sit()
    person.window.navigate("live")
    view = person.window.pages.view("live")
    assert isinstance(view, LiveView)
    person.until(lambda: view.snapshot is not None and view.snapshot.row.step > at + 3, "the same run, going on")
    assert view.run_id == run and view.snapshot is not None and view.snapshot.row.status == "training"
    x, y = view.page.charts.loss.plotted("loss")
    assert list(x) == list(range(1, len(x) + 1)) and len(x) > at, "the curve is whole"
    assert list(zip(x, y, strict=True)) == written(root, run, "StepCompleted", "loss")[: len(x)]
    assert person.window.context.services.document.recipe == recipe, "the form is as it was"
