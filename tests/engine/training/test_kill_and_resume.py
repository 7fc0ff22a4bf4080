"""Kills at every write, sync and rename and at random moments; resume continues the same numbers, bit for bit."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.protocol.events import RunFailed, RunFinished, RunStarted, RunStopped, StepCompleted
from engine.protocol.folder import RunFolder
from engine.protocol.lock import is_held
from engine.protocol.recipe import to_yaml
from engine.training.checkpoint import read_manifest, verify_checkpoint
from engine.training.safetensors_file import SafetensorsFile
from tests.helpers.tiny_runs import all_events, events_of, launch, make_run, recipe_for
from tests.helpers.warm_engines import Engines, warm_engines

SETTINGS: dict[str, object] = {
    "epochs": 2,
    "lora_dropout": 0.2,
    "maximum_steps": 6,
    "checkpoint_every": 2,
    "evaluate_every": 3,
    "keep_last": 1,
}
SHORT: dict[str, object] = {
    **SETTINGS,
    "maximum_steps": 2,
    "gradient_accumulation_steps": 1,
    "checkpoint_every": 1,
    "evaluate_every": 0,
    "lora_targets": ("q_proj",),
}
"""Few writes, because a kill is tried at each of them: two checkpoints, one deletion."""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with warm_engines() as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


_number = 0


def _new_run(home: Path, **settings: object) -> RunFolder:
    global _number
    _number += 1
    return make_run(home, identity=f"20261201T110203-{_number:04d}", **{**SETTINGS, **settings})


def _losses(folder: RunFolder) -> dict[int, float | None]:
    """The loss of each step, as the newest attempt that made it says."""
    return {event.step: event.loss for event in events_of(folder, StepCompleted)}


def _weights(folder: RunFolder) -> dict[str, bytes]:
    """Every tensor of the last checkpoint, as bytes."""
    _, path = folder.checkpoints()[-1]
    found = {}
    for name in ("adapter_model.safetensors", "optimizer.safetensors"):
        file = SafetensorsFile(path / name)
        found.update({f"{name}/{tensor}": file.read(tensor).tobytes() for tensor in file.entries})
    return found


@pytest.fixture(scope="module")
def uninterrupted(engines: Engines, home: Path) -> RunFolder:
    """The run that nobody disturbs."""
    folder = _new_run(home)
    assert engines.run(folder)["code"] == 0
    return folder


@pytest.fixture(scope="module")
def short(engines: Engines, home: Path) -> RunFolder:
    """The same for the short run."""
    folder = _new_run(home, **SHORT)
    assert engines.run(folder)["code"] == 0
    return folder


@pytest.mark.parametrize("step", [1, 3, 5])
def test_resumed_equals_uninterrupted_bit_for_bit(
    engines: Engines, home: Path, uninterrupted: RunFolder, step: int
) -> None:
    """In the middle of an epoch and across its end, with dropout."""
    folder = _new_run(home)
    assert engines.run(folder, "--stop-after", step)["code"] == 4
    (stopped,) = events_of(folder, RunStopped)
    assert stopped.checkpoint_step == step
    assert engines.run(folder)["code"] == 0
    assert [event.resumed_from_step for event in events_of(folder, RunStarted)] == [None, step]
    assert _losses(folder) == _losses(uninterrupted)
    assert _weights(folder) == _weights(uninterrupted)
    sequences = [event.sequence for event in all_events(folder)]
    assert sequences == list(range(1, len(sequences) + 1))


def _check_after_a_kill(folder: RunFolder) -> None:
    """Readable, complete, and free for the next engine."""
    assert not is_held(folder.engine_lock)
    if folder.events.exists():
        sequences = [event.sequence for event in all_events(folder)]
        assert sequences == sorted(set(sequences))
    for _, path in folder.checkpoints():
        verify_checkpoint(path, read_manifest(path))


def _resume_and_compare(engines: Engines, folder: RunFolder, uninterrupted: RunFolder) -> None:
    answer = engines.run(folder)
    assert answer["code"] == 0, folder.engine_log.read_text()[-2000:]
    assert len(events_of(folder, RunFinished)) >= 1
    assert _losses(folder) == _losses(uninterrupted)
    assert _weights(folder) == _weights(uninterrupted)
    assert not list(folder.checkpoint_root.glob(".*"))


@pytest.mark.scenario("S4")
@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_killed_at_each_write_sync_and_rename(engines: Engines, home: Path, short: RunFolder) -> None:
    calls = engines.run(_new_run(home, **SHORT))["calls"]
    assert calls > 50
    for call in range(1, calls + 1):
        folder = _new_run(home, **SHORT)
        assert engines.run(folder, "--kill-at-disk-call", call)["code"] == 137, call
        _check_after_a_kill(folder)
        _resume_and_compare(engines, folder, short)


@pytest.mark.scenario("S4")
@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_killed_at_twenty_random_moments(engines: Engines, home: Path, uninterrupted: RunFolder) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed of the moments: {seed}")
    moments = random.Random(seed)
    whole = engines.run(_new_run(home))["seconds"]
    for _ in range(20):
        folder = _new_run(home)
        engines.run(folder, kill_after=moments.uniform(0, whole))
        _check_after_a_kill(folder)
        _resume_and_compare(engines, folder, uninterrupted)


def test_a_resume_under_other_numbers_is_refused_by_name(engines: Engines, home: Path) -> None:
    folder = _new_run(home)
    assert engines.run(folder, "--stop-after", 2)["code"] == 4
    changed = recipe_for(home, **{**SETTINGS, "learning_rate": 1e-3})
    launch(folder, changed)
    assert to_yaml(changed) == folder.recipe.read_text()
    assert engines.run(folder)["code"] == 1
    (failed,) = events_of(folder, RunFailed)
    assert failed.problem.code == "numerics_changed"
    assert failed.problem.arguments["changed"] == "learning_rate"
    assert failed.checkpoint_step == 2
