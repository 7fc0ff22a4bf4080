"""A real run folder for a tiny model, planned by the real planner, and the real engine process on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.data.preparing import open_dataset
from engine.planner.identity import model_hash
from engine.planner.machine import MachineSpec
from engine.planner.make import make_plan
from engine.protocol.events import Event, KnownEvent, UnknownEvent, decode_event
from engine.protocol.folder import RunFolder
from engine.protocol.plan import encode_plan
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, resolve, to_yaml
from tests.helpers.datasets import chat, silent, write_lines
from tests.helpers.tiny_models import write_tiny_llama

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = ("dog", "fox", "model", "loss", "user", "answer", "capital", "question", "export", "sentence")
SMALL: dict[str, object] = {
    "sequence_length": 48,
    "micro_batch_size": 2,
    "gradient_accumulation_steps": 2,
    "lora_rank": 4,
    "learning_rate": 5e-3,
    "evaluation_fraction": 0.1,
    "evaluate_every": 0,
    "checkpoint_every": 0,
    "seed": 7,
}

E = TypeVar("E", bound=Event)


def write_rows(path: Path, count: int = 40) -> Path:
    """Short conversations of differing length, so that rows are ragged and packed."""
    rows = [
        chat(f"What is the {SUBJECTS[i % 10]}{'?' * (i % 3)}", f"The {SUBJECTS[i % 10]} is {'small ' * (i % 5)}{i}.")
        for i in range(count)
    ]
    return write_lines(path, rows)


def make_run(home: Path, *, identity: str = "20261201T110203-K7QF", rows: int = 40, **settings: object) -> RunFolder:
    """A launched run without its engine: <home>/runs/<identity> with recipe and plan. Model and rows lie in <home>."""
    model = home / "model"
    if not model.exists():
        write_tiny_llama(model)
    data = home / "rows.jsonl"
    if not data.exists():
        write_rows(data, rows)
    folder = RunFolder(home / "runs" / identity)
    folder.create()
    launch(folder, recipe_for(home, **settings))
    return folder


def recipe_for(home: Path, **settings: object) -> Recipe:
    """The recipe of `make_run`."""
    recipe = Recipe(
        model=ModelRef(source="folder", path=str(home / "model")), datasets=(DatasetRef(str(home / "rows.jsonl")),)
    )
    return msgspec.structs.replace(recipe, **{**SMALL, **settings})


def launch(folder: RunFolder, recipe: Recipe) -> None:
    """Plan the recipe and write both into the run folder."""
    resolved = resolve(recipe)
    assert recipe.model is not None
    model = Path(recipe.model.path)
    home = folder.path.parent.parent
    data = open_dataset(resolved, model, home / "cache" / "tokens", silent)
    machine = MachineSpec(cores=1, memory_bytes=8 << 30, other_bytes=0, disk_free_bytes=8 << 30)
    config = msgspec.json.decode((model / "config.json").read_bytes())
    plan = make_plan(resolved, config, data.statistics, machine, model_hash(model))
    errors = [problem for problem in plan.problems if problem.severity == "error"]
    assert not errors, errors
    folder.recipe.write_text(to_yaml(recipe), encoding="utf-8")
    folder.plan.write_bytes(encode_plan(plan))


def engine_environment() -> dict[str, str]:
    """What the engine's process gets: this checkout on the path, one thread."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def start_engine(folder: RunFolder, *, command: Sequence[str] = ("-m", "engine", "train")) -> subprocess.Popen[bytes]:
    """Start the engine on a run, its output into engine.log, as the studio does."""
    with folder.engine_log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *command, "--run", str(folder.path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=engine_environment(),
            cwd=folder.path,
        )


def run_engine(folder: RunFolder, *, command: Sequence[str] = ("-m", "engine", "train")) -> int:
    """Run the engine to its end. Returns the exit code."""
    return start_engine(folder, command=command).wait(timeout=120)


def all_events(folder: RunFolder) -> list[KnownEvent | UnknownEvent]:
    """Every whole event of a run."""
    events = []
    for line in folder.events.read_bytes().split(b"\n"):
        try:
            events.append(decode_event(line))
        except msgspec.DecodeError:
            continue
    return events


def events_of(folder: RunFolder, kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in all_events(folder) if isinstance(event, kind)]
