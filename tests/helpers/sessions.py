"""A home as a person has it after a while: a small model and dataset, finished runs of the real engine, exports."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from studio.app import Studio, open_studio
from studio.exports.service import ExportFormat
from studio.recipes import DatasetRef, ModelRef, Recipe
from tests.helpers.tiny_models import write_tiny_llama

QUICK: dict[str, object] = {
    "sequence_length": 48,
    "gradient_accumulation_steps": 1,
    "learning_rate": 1e-2,
    "maximum_steps": 12,
    "epochs": 6.0,
    "threads": 1,
    "evaluate_every": 3,
    "checkpoint_every": 3,
    "keep_last": 2,
    "keep_best": 1,
    "sample_prompts": ("What is 3?",),
    "sample_tokens": 6,
}
"""Trains in seconds, and leaves checkpoints that stand beside ones that the keeping rule let go."""


def open_quiet_studio(root: Path) -> Studio:
    """The studio over `root` with the real engine on one thread."""
    return open_studio(root, environment={**os.environ, "OMP_NUM_THREADS": "1"})


def small_session_recipe(root: Path, **settings: object) -> Recipe:
    """A recipe over a tiny model and 60 short conversations, which are written to `root` where they are not there."""
    model, rows = root / "tiny-llama", root / "questions.jsonl"
    if not model.exists():
        write_tiny_llama(model)
    if not rows.exists():
        with rows.open("w", encoding="utf-8") as file:
            for number in range(60):
                turns = [
                    {"role": "user", "content": f"What is {number}?"},
                    {"role": "assistant", "content": f"It is {number}, and {'very ' * (number % 4)}small."},
                ]
                file.write(json.dumps({"messages": turns}) + "\n")
    recipe = Recipe(model=ModelRef("folder", path=str(model)), datasets=(DatasetRef(str(rows)),))
    return msgspec.structs.replace(recipe, **{**QUICK, **settings})


def until(studio: Studio, condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Refresh until the condition holds. Raises TimeoutError with what the engines said last."""
    deadline = time.monotonic() + seconds
    while True:
        studio.runs.refresh()
        if condition():
            return
        if time.monotonic() > deadline:
            logs = [path.read_text()[-2000:] for path in studio.home.runs.glob("*/engine.log")]
            raise TimeoutError(f"Waited {seconds:.0f} s. {studio.store.runs()} {logs}")
        time.sleep(0.05)


def launch(studio: Studio, recipe: Recipe, *, name: str, tags: tuple[str, ...] = ()) -> str:
    """Plan and launch a run with the real engine."""
    planned = studio.planning.full(recipe)
    if planned.plan is None or not planned.can_launch:
        raise RuntimeError(f"The recipe cannot be launched: {planned.problems}")
    return studio.runs.launch(planned.recipe, planned.plan, token=secrets.token_hex(4), name=name, tags=tags)


def finish(studio: Studio, recipe: Recipe, *, name: str, tags: tuple[str, ...] = ()) -> str:
    """Launch a run and wait for its end."""
    run = launch(studio, recipe, name=name, tags=tags)
    until(studio, lambda: bool(studio.store.count()) and studio.store.run(run).status in ("finished", "failed"))
    until(studio, lambda: not studio.runs.is_alive(run))
    row = studio.store.run(run)
    if row.status != "finished":
        raise RuntimeError(f"The run ended badly: {row.reason}")
    return run


def export(studio: Studio, run: str, kind: ExportFormat) -> None:
    """Export a run's best checkpoint and wait for the end; the history tells what the self-test said."""
    job = studio.exports.start(studio.store.run(run), kind)
    try:
        job.watch(lambda event: None)
    finally:
        job.close()
        studio.runs.refresh()
