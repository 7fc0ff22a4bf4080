"""The real engine as a process of its own on a tiny model: what it says, and how it obeys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec
import psutil
import pytest

from engine.protocol.commands import KnownCommand, PauseRun, SaveCheckpoint, StopRun, UnpauseRun, new_id, send
from engine.protocol.events import (
    CheckpointDeleted,
    CheckpointFailed,
    CheckpointSaved,
    CommandAccepted,
    CommandRejected,
    EvaluationCompleted,
    Event,
    NonFiniteSeen,
    PhaseCompleted,
    ResourcesMeasured,
    RunFailed,
    RunFinished,
    RunPaused,
    RunStarted,
    RunStopped,
    RunUnpaused,
    SampleGenerated,
    StepCompleted,
    TrainingStarted,
)
from engine.protocol.folder import RunFolder
from engine.protocol.lock import is_held
from engine.protocol.recipe import parse_recipe, resolve
from engine.training.checkpoint import read_manifest, verify_checkpoint
from tests.helpers.engine_faults import SCRIPT
from tests.helpers.tiny_runs import all_events, events_of, make_run, run_engine, start_engine
from tests.helpers.warm_engines import Engines, warm_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with warm_engines() as found:
        yield found


def _wait_for(folder: RunFolder, kind: type[Event], *, count: int = 1, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if folder.events.exists() and len(events_of(folder, kind)) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"no {kind.__name__} in time; the log says:\n{folder.engine_log.read_text()[-2000:]}")


def _ask(folder: RunFolder, kind: type[KnownCommand], attempt: int = 1) -> None:
    send(folder.commands, kind(id=new_id(), attempt=attempt))


@pytest.mark.scenario("S13")
def test_a_run_from_its_first_event_to_its_last(tmp_path: Path) -> None:
    folder = make_run(
        tmp_path,
        maximum_steps=8,
        evaluate_every=2,
        checkpoint_every=2,
        sample_prompts=("The dog",),
        sample_tokens=4,
        lora_dropout=0.1,
        weight_decay=0.01,
    )
    assert run_engine(folder) == 0, folder.engine_log.read_text()
    events = all_events(folder)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    resolved = resolve(parse_recipe(folder.recipe.read_text()))
    assert events[0].recipe == msgspec.json.decode(msgspec.json.encode(resolved))
    phases = [event.phase for event in events_of(folder, PhaseCompleted)]
    assert phases == ["reading_data", "packing", "compiling", "reading_model", "warming_up"]
    (training,) = events_of(folder, TrainingStarted)
    assert training.total_steps == 8
    steps = events_of(folder, StepCompleted)
    assert [step.step for step in steps] == list(range(1, 9))
    losses = [step.loss for step in steps if step.loss is not None]
    assert losses[-1] < losses[0] - 0.5
    assert steps[-1].learning_rate == pytest.approx(5e-4)
    evaluations = events_of(folder, EvaluationCompleted)
    assert [event.step for event in evaluations] == [0, 2, 4, 6, 8]
    assert evaluations[-1].evaluation_loss is not None
    assert evaluations[0].evaluation_loss is not None
    assert evaluations[-1].evaluation_loss < evaluations[0].evaluation_loss - 0.3
    assert len(events_of(folder, SampleGenerated)) == 5
    assert events_of(folder, ResourcesMeasured)
    assert not is_held(folder.engine_lock)
    _check_kept_checkpoints(folder)


def _check_kept_checkpoints(folder: RunFolder) -> None:
    """Best and last two stay; every deletion is told."""
    kept = [step for step, _ in folder.checkpoints()]
    saved = {event.step: event for event in events_of(folder, CheckpointSaved)}
    gone = {event.checkpoint_step for event in events_of(folder, CheckpointDeleted)}
    assert sorted(saved) == [2, 4, 6, 8]
    assert set(kept) == set(saved) - gone
    assert {6, 8} <= set(kept)
    finished = events_of(folder, RunFinished)[0]
    assert finished.best_step in kept
    for _, path in folder.checkpoints():
        manifest = read_manifest(path)
        verify_checkpoint(path, manifest)
        assert manifest.state.evaluation_loss == saved[manifest.state.step].evaluation_loss


@pytest.mark.scenario("S3")
def test_stop_saves_and_ends_with_nothing_left_and_a_second_stop_is_harmless(tmp_path: Path) -> None:
    folder = make_run(tmp_path, epochs=5000)
    engine = start_engine(folder)
    _wait_for(folder, StepCompleted, count=3)
    children = psutil.Process(engine.pid).children(recursive=True)
    asked = time.monotonic()
    _ask(folder, StopRun)
    _ask(folder, StopRun)
    assert engine.wait(timeout=20) == 4
    assert time.monotonic() - asked < 10  # the stated time: finish the step, save, end
    assert not any(child.is_running() for child in children)
    answers = events_of(folder, CommandAccepted) + events_of(folder, CommandRejected)
    assert len({answer.command_id for answer in answers}) == len(answers) == 2
    (stopped,) = events_of(folder, RunStopped)
    assert stopped.reason == "asked"
    last = events_of(folder, StepCompleted)[-1].step
    assert stopped.checkpoint_step == last
    assert [step for step, _ in folder.checkpoints()] == [last]
    assert run_engine_stopping_at_once(folder) == 4


def run_engine_stopping_at_once(folder: RunFolder) -> int:
    """Resume, and terminate by signal as soon as it says that it is there: a phase is cancellable too."""
    engine = start_engine(folder)
    _wait_for(folder, RunStarted, count=2)
    engine.terminate()
    code = engine.wait(timeout=20)
    stopped = events_of(folder, RunStopped)[-1]
    assert (stopped.attempt, stopped.reason) == (2, "terminated")
    return code


def test_pause_checkpoint_and_go_on(tmp_path: Path) -> None:
    folder = make_run(tmp_path, epochs=5000)
    engine = start_engine(folder)
    _wait_for(folder, StepCompleted)
    _ask(folder, PauseRun)
    _wait_for(folder, RunPaused)
    steps = len(events_of(folder, StepCompleted))
    _ask(folder, SaveCheckpoint)
    _wait_for(folder, CheckpointSaved)
    assert events_of(folder, CheckpointSaved)[0].reason == "asked"
    assert len(events_of(folder, StepCompleted)) == steps
    _ask(folder, UnpauseRun)
    _wait_for(folder, RunUnpaused)
    _wait_for(folder, StepCompleted, count=steps + 1)
    _ask(folder, StopRun)
    assert engine.wait(timeout=20) == 4


def test_a_pause_that_nobody_ends_saves_and_ends(tmp_path: Path) -> None:
    folder = make_run(tmp_path, epochs=5000)
    engine = start_engine(folder, command=(SCRIPT, "--longest-pause", "0.3"))
    _wait_for(folder, StepCompleted)
    _ask(folder, PauseRun)
    assert engine.wait(timeout=20) == 4
    (stopped,) = events_of(folder, RunStopped)
    assert stopped.reason == "paused_too_long"
    assert stopped.checkpoint_step == events_of(folder, StepCompleted)[-1].step


@pytest.mark.scenario("S10")
def test_a_loss_that_is_no_number_is_marked_and_the_run_goes_on(engines: Engines, tmp_path: Path) -> None:
    folder = make_run(tmp_path, maximum_steps=9)
    assert engines.run(folder, "--poison", 7, 7)["code"] == 0
    (seen,) = events_of(folder, NonFiniteSeen)
    assert (seen.step, seen.quantity, seen.action) == (7, "loss", "skipped")
    steps = {step.step: step for step in events_of(folder, StepCompleted)}
    assert (steps[7].loss, steps[7].grad_norm, steps[7].applied) == (None, None, False)
    assert all(steps[n].loss is not None and steps[n].applied for n in (6, 8, 9))


@pytest.mark.scenario("S10")
def test_a_run_that_stays_without_numbers_ends_by_name(engines: Engines, tmp_path: Path) -> None:
    folder = make_run(tmp_path, maximum_steps=12, checkpoint_every=5)
    assert engines.run(folder, "--poison", 7, 99)["code"] == 1
    (failed,) = events_of(folder, RunFailed)
    assert (failed.problem.code, failed.is_bug, failed.checkpoint_step, failed.step) == ("diverged", False, 5, 9)
    assert [seen.action for seen in events_of(folder, NonFiniteSeen)] == ["skipped", "skipped", "stopped"]


@pytest.mark.scenario("S2")
def test_fifty_megabytes_in_the_log_with_nobody_reading_cost_no_step_time(engines: Engines, tmp_path: Path) -> None:
    quiet = make_run(tmp_path, epochs=2, maximum_steps=13, identity="20261201T000000-AAAA")
    assert engines.run(quiet)["code"] == 0
    loud = make_run(tmp_path, epochs=2, maximum_steps=13, identity="20261201T000000-BBBB")
    assert engines.run(loud, "--chatter-megabytes", 2)["code"] == 0
    assert loud.engine_log.stat().st_size > 50e6
    before, after = (median(step.step_seconds for step in events_of(folder, StepCompleted)) for folder in (quiet, loud))
    assert after - before < 0.1  # 4 MB a step into the page cache; a reader that is waited for would cost for ever


@pytest.mark.scenario("S8")
def test_an_engine_that_cannot_say_anything_leaves_its_reason_in_the_log(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    folder.events.mkdir()  # not even the first event can be written
    assert run_engine(folder) == 1
    assert "events.jsonl" in folder.engine_log.read_text().strip().splitlines()[-1]


@pytest.mark.scenario("S8")
def test_a_recipe_that_cannot_be_read_is_the_reason_on_the_last_line(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    folder.recipe.write_text("learning_rat: 1\n")
    assert run_engine(folder) == 1
    assert folder.engine_log.read_text().strip().splitlines()[-1].startswith("unknown_key: ")
    (failed,) = events_of(folder, RunFailed)
    assert failed.problem.code == "unknown_key"


def test_two_engines_never_work_on_one_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path, epochs=5000)
    engine = start_engine(folder)
    _wait_for(folder, RunStarted)
    assert run_engine(folder) == 1
    assert "already" in folder.engine_log.read_text() or "Another process" in folder.engine_log.read_text()
    _ask(folder, StopRun)
    assert engine.wait(timeout=30) == 4
    assert len(events_of(folder, RunStarted)) == 1


def test_a_full_disk_is_told_and_no_half_checkpoint_stays(engines: Engines, tmp_path: Path) -> None:
    folder = make_run(tmp_path, maximum_steps=4, checkpoint_every=2)
    assert engines.run(folder, "--full-disk")["code"] == 1
    failures = events_of(folder, CheckpointFailed)
    assert [(event.step, event.problem.code) for event in failures] == [(2, "disk_full"), (4, "disk_full")]
    assert events_of(folder, RunFailed)[0].problem.code == "disk_full"
    assert list(folder.checkpoint_root.iterdir()) == []
    assert engines.run(folder)["code"] == 0  # with space again, the run can be done


def test_running_out_of_memory_is_named(engines: Engines, tmp_path: Path) -> None:
    folder = make_run(tmp_path, maximum_steps=4)
    assert engines.run(folder, "--exhaust-memory-at", 2)["code"] == 1
    (failed,) = events_of(folder, RunFailed)
    assert (failed.problem.code, failed.is_bug, failed.step) == ("out_of_memory", False, 1)


def test_data_that_changed_since_planning_is_refused_by_name(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    rows = tmp_path / "rows.jsonl"
    rows.write_text(rows.read_text() + rows.read_text())
    assert run_engine(folder) == 1
    (failed,) = events_of(folder, RunFailed)
    assert failed.problem.code == "plan_outdated"
    assert "dataset_hash" in str(failed.problem.arguments["changed"])


@pytest.mark.scenario("S35")
def test_no_secret_of_the_environment_reaches_the_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hf_" + "Z9y8X7w6V5u4T3s2R1q0"
    monkeypatch.setenv("HF_TOKEN", secret)
    folder = make_run(tmp_path, maximum_steps=2)
    (tmp_path / "model" / "config.json").write_text(
        f'{{"model_type": "{secret}"}}'
    )  # provokes a failure that quotes it
    run_engine(folder)
    assert events_of(folder, RunFailed)
    for path in folder.path.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
