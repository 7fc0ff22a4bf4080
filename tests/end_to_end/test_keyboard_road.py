"""The main road without a mouse: a model folder on this disk, a kill of the engine on the way, and an export."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from engine.protocol.heartbeat import read_heartbeat
from studio.home import open_home
from studio.recipes import DatasetRef, ModelRef
from studio.settings import SettingsFile
from tests.helpers.person import CONTROL, SHIFT, Person, Sit
from tests.helpers.tiny_models import write_tiny_llama
from tests.helpers.tiny_runs import write_rows
from ui.views.export import ExportView
from ui.views.live import LiveView
from ui.views.new_run import NewRunView

pytestmark = pytest.mark.skipif(os.name != "posix", reason="posix: killing by signal is POSIX's")
KEY = Qt.Key


@pytest.mark.scenario("S4")
def test_from_a_folder_to_a_green_export(sit: Sit, root: Path, tmp_path: Path) -> None:
    model = write_tiny_llama(tmp_path / "models" / "my-llama")
    data = write_rows(tmp_path / "questions.jsonl")
    SettingsFile(open_home(root).settings).change(hub_offline=True, hub_cache=str(tmp_path / "cache"))
    person = sit()
    person.press(KEY.Key_N, CONTROL)
    choose_model(person, model)
    choose_data(person, data)
    run = plan_and_launch(person)
    kill_the_engine(person, root, run)
    resume_to_the_end(person)
    export(person)


def new_run(person: Person) -> NewRunView:
    view = person.window.pages.view("new")
    assert isinstance(view, NewRunView)
    return view


def live(person: Person) -> LiveView:
    view = person.window.pages.view("live")
    assert isinstance(view, LiveView)
    return view


def status(person: Person) -> str:
    shot = live(person).snapshot
    return shot.row.status if shot is not None else ""


def choose_model(person: Person, model: Path) -> None:
    """The second tab, a folder by the file dialog, its row by the arrow, Enter."""
    recipe = person.window.context.services.document
    person.tab_to("Where models are")
    person.press(KEY.Key_Right)
    person.tab_to("Add a folder…")
    person.choosing(lambda: person.press(KEY.Key_Space), model)
    person.until_tab_comes_to("Models on this disk")
    person.press(KEY.Key_Down)

    def taken() -> bool:
        person.press(KEY.Key_Return)  # nothing happens before the details are read
        return recipe.recipe.model == ModelRef(source="folder", path=str(model))

    person.until(taken, "the model to be chosen by Enter")
    person.press(KEY.Key_Return, CONTROL)
    assert new_run(person).index == 1


def choose_data(person: Person, data: Path) -> None:
    """A file, and a length that the model can take."""
    person.tab_to("Add a file…")
    person.choosing(lambda: person.press(KEY.Key_Space), data)
    document = person.window.context.services.document
    assert document.recipe.datasets == (DatasetRef(str(data)),)
    fill(person, "Sequence length", "48")
    person.until(lambda: new_run(person).session.can_launch, "a plan")
    person.press(KEY.Key_Return, CONTROL)
    assert new_run(person).index == 2


def fill(person: Person, name: str, text: str) -> None:
    """Tab to a field, replace what it holds, Enter."""
    person.tab_to(name)
    person.press(KEY.Key_A, CONTROL)
    person.write(text)
    person.press(KEY.Key_Return)


def plan_and_launch(person: Person) -> str:
    """Fields by Tab, one setting by its search, Launch by its keys."""
    fill(person, "Gradient accumulation", "1")
    fill(person, "Epochs", "6")
    person.press(KEY.Key_F, CONTROL)
    person.write("seed")
    fill(person, "Seed", "7")
    person.press(KEY.Key_B, CONTROL)
    person.press(KEY.Key_Return, CONTROL | SHIFT)
    person.until(lambda: person.window.pages.route == "live", "Live after the launch")
    run = live(person).run_id
    recipe = person.window.context.services.runs.recipe(run)
    assert (recipe.seed, recipe.epochs, recipe.gradient_accumulation_steps) == (7, 6, 1)
    return run


def kill_the_engine(person: Person, root: Path, run: str) -> None:
    """After a checkpoint was asked for by its key."""
    view = live(person)
    person.until(lambda: status(person) == "training" and view.snapshot is not None and view.snapshot.row.step > 1,
                 "training", 60)  # fmt: skip
    person.press(KEY.Key_P, CONTROL)
    person.until(lambda: status(person) == "paused", "the pause")
    person.press(KEY.Key_S, CONTROL)
    person.until(lambda: view.snapshot is not None and bool(view.snapshot.checkpoints), "a checkpoint")
    heartbeat = read_heartbeat(open_home(root).run(run).heartbeat)
    assert heartbeat is not None
    os.kill(heartbeat.pid, signal.SIGKILL)
    person.until(lambda: status(person) == "lost", "the kill to be noticed")


def resume_to_the_end(person: Person) -> None:
    """The card of the cause has the way on."""
    view = live(person)
    assert view.snapshot is not None
    person.tab_to(f"Resume from step {view.snapshot.checkpoints[-1].step}")
    person.press(KEY.Key_Space)
    person.until(lambda: status(person) == "finished", "the run to finish", 90)
    row = view.snapshot.row
    assert (row.attempt, row.step) == (2, row.total_steps)


def export(person: Person) -> None:
    """The strip of the finished run leads there."""
    person.press(KEY.Key_5, CONTROL)
    view = person.window.pages.view("export")
    assert isinstance(view, ExportView)
    person.until(lambda: view.prediction is not None, "sizes")
    person.tab_to("LoRA adapter (PEFT)")
    person.press(KEY.Key_Space)
    person.press(KEY.Key_E, CONTROL)
    person.until(lambda: view.result.badge.isVisible() and view.result.badge.text() == "Self-test passed",
                 "the self-test to pass", 90)  # fmt: skip
