"""The studio with the real engine process: launched, stopped, resumed, finished, exported, asked; nothing leaks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.protocol import events as e
from studio.app import Studio, open_studio
from studio.recipes import DatasetRef, ModelRef, Recipe, resolve
from tests.helpers.tiny_models import write_tiny_llama
from tests.studio.runs.test_history import everything

SECRET = "hf_" + "S3cretOfTheTest" * 2


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    environment = {**os.environ, "HF_TOKEN": SECRET, "OMP_NUM_THREADS": "1"}
    studio = open_studio(tmp_path / "home", environment=environment)
    yield studio
    for path in studio.home.runs.iterdir():
        studio.runs.end_now(path.name, patience_seconds=1.0)
    studio.close()


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    model = write_tiny_llama(tmp_path / "model")
    rows = tmp_path / "rows.jsonl"
    with rows.open("w") as file:
        for number in range(40):
            turns = [
                {"role": "user", "content": f"What is {number}?"}, {"role": "assistant", "content": f"It is {number}."}
            ]  # fmt: skip
            file.write(json.dumps({"messages": turns}) + "\n")
    return Recipe(
        model=ModelRef("folder", path=str(model)), datasets=(DatasetRef(str(rows)),), sequence_length=48,
        gradient_accumulation_steps=1, learning_rate=1e-2, maximum_steps=12, epochs=3.0, threads=1, evaluate_every=6,
        checkpoint_every=4, sample_prompts=("What is 3?",), sample_tokens=4,
    )  # fmt: skip


def until(studio: Studio, condition: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        studio.runs.refresh()
        if condition():
            return
        logs = [path.read_text()[-3000:] for path in studio.home.runs.glob("*/engine.log")]
        assert time.monotonic() < deadline, (studio.store.runs(), logs)
        time.sleep(0.05)


@pytest.mark.scenario("S1")
@pytest.mark.scenario("S13")
@pytest.mark.scenario("S35")
def test_a_run_from_plan_to_export(studio: Studio, recipe: Recipe) -> None:
    planned = studio.planning.full(recipe)
    assert planned.plan is not None
    assert planned.can_launch, planned.problems
    run = studio.runs.launch(planned.recipe, planned.plan, token="once", name="tiny")
    until(studio, lambda: studio.store.count() == 1 and studio.store.run(run).step >= 2)
    studio.runs.stop(run)
    until(studio, lambda: studio.store.run(run).status in ("stopped", "finished") and not studio.runs.is_alive(run))
    stopped = studio.store.run(run)
    if stopped.status == "stopped":  # on a quick machine it may have been done
        assert stopped.checkpoint_step == stopped.step
        studio.runs.resume(run)
        until(studio, lambda: studio.store.run(run).status == "finished")
    row = studio.store.run(run)
    assert (row.step, row.total_steps, row.bad_lines) == (12, 12, 0)
    assert row.best_evaluation_loss is not None
    losses = studio.store.series(run, "loss")
    assert losses.steps == tuple(range(1, 13))
    assert losses.values[-1] is not None
    assert losses.values[0] is not None
    assert losses.values[-1] < losses.values[0]
    assert studio.store.samples(run)
    assert "resident_bytes" in studio.store.metric_keys(run)
    [started, *_] = studio.store.events(run, kinds=["RunStarted"])
    echoed = json.loads(started.content)["recipe"]
    assert echoed == json.loads(row.recipe)
    assert echoed["learning_rate"] == resolve(recipe).learning_rate
    assert [c.step for c in studio.store.checkpoints(run)] == [
        step for step, _ in studio.runs.folder(run).checkpoints()
    ]
    _exports(studio, run)
    _answers(studio, run)
    _rebuilds(studio)
    _no_secret(studio.home.root)


def _exports(studio: Studio, run: str) -> None:
    job = studio.exports.start(studio.store.run(run), "peft")
    seen: list[object] = []
    job.wait(seen.append)
    job.close()
    assert any(isinstance(event, e.ExportVerified) and event.passed for event in seen)
    studio.runs.refresh()
    [export] = studio.exports.rows(run)
    assert (export.state, export.format) == ("passed", "peft")
    assert (Path(export.path) / "adapter_model.safetensors").is_file()


def _answers(studio: Studio, run: str) -> None:
    job = studio.generation.from_run(run, ["What is 3?"], new_tokens=3)
    seen: list[object] = []
    job.wait(seen.append)
    job.close()
    whole = [event for event in seen if isinstance(event, e.TextGenerated) and event.done]
    assert [event.new_tokens for event in whole] == [3]


def _rebuilds(studio: Studio) -> None:
    studio.runs.refresh()
    before = everything(studio.home.history)
    root = studio.home.root
    studio.close()
    for suffix in ("", "-wal", "-shm"):
        (root / f"history.db{suffix}").unlink(missing_ok=True)
    again = open_studio(root)
    again.runs.refresh()
    again.close()
    assert everything(again.home.history) == before


def _no_secret(root: Path) -> None:
    holding = [path for path in root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holding == []


@pytest.mark.scenario("S8")
@pytest.mark.scenario("S35")
def test_an_engine_that_cannot_begin_says_why_and_no_secret(studio: Studio, recipe: Recipe) -> None:
    planned = studio.planning.full(recipe)
    assert planned.plan is not None
    Path(recipe.datasets[0].path).unlink()
    run = studio.runs.launch(planned.recipe, planned.plan, token="once")
    until(studio, lambda: studio.store.count() == 1 and studio.store.run(run).status == "failed")
    reason = studio.store.run(run).reason
    assert reason is not None
    assert "rows.jsonl" in reason.message
    _no_secret(studio.home.root)
