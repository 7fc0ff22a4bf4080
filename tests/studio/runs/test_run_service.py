"""Launch, watch, command, adopt and end a detached engine (the fake one: tests/helpers/fake_engine.py)."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

import msgspec
import psutil
import pytest

from engine.protocol import heartbeat
from engine.protocol.errors import ProblemsError, SurroundingsError
from engine.protocol.recipe import DatasetRef, Recipe, resolve
from studio.runs.rows import RunRow
from tests.helpers.plans import plan_for, small_recipe
from tests.studio.runs.conftest import Workshop


@pytest.mark.scenario("S13")
def test_a_launched_run_finishes_and_echoes_every_recipe_value(workshop: Workshop) -> None:
    workshop.options(steps=3)
    run = workshop.launch(learning_rate=3e-4, lora_rank=4, name="first")
    workshop.until_status(run, "finished")
    row = workshop.store.run(run)
    assert (row.name, row.step, row.total_steps, row.method, row.model) == ("first", 3, 3, "lora", "SmolLM2-135M")
    [started] = workshop.store.events(run, kinds=["RunStarted"])
    asked = small_recipe(workshop.home.root, learning_rate=3e-4, lora_rank=4, name="first")
    expected = json.loads(msgspec.json.encode(resolve(asked)))
    assert json.loads(started.content)["recipe"] == expected
    assert json.loads(row.recipe) == expected


@pytest.mark.scenario("S11")
def test_three_steps_make_three_points_and_a_missing_metric_is_empty(workshop: Workshop) -> None:
    workshop.options(steps=3)
    run = workshop.launch()
    workshop.until_status(run, "finished")
    assert workshop.store.series(run, "loss").steps == (1, 2, 3)
    assert workshop.store.series(run, "loss").values == (1.0, 1 / 2, 1 / 3)
    assert workshop.store.series(run, "loss").tokens == (100, 200, 300)
    assert workshop.store.series(run, "evaluation_loss").steps == ()
    assert "evaluation_loss" not in workshop.store.metric_keys(run)


@pytest.mark.scenario("S5")
def test_the_same_wish_launches_once_and_the_run_keeps_its_recipe(workshop: Workshop) -> None:
    workshop.options(steps=2)
    recipe = small_recipe(workshop.home.root, learning_rate=1e-3)
    first = workshop.runs.launch(recipe, plan_for(recipe), token="press")
    edited = msgspec.structs.replace(recipe, learning_rate=5e-5)
    second = workshop.runs.launch(edited, plan_for(edited), token="press")
    assert first == second
    assert len(list(workshop.home.runs.iterdir())) == 1
    assert workshop.runs.recipe(first).learning_rate == 1e-3
    assert workshop.runs.launch(recipe, plan_for(recipe), token="another press") != first


def test_a_launch_says_everything_that_forbids_it(workshop: Workshop) -> None:
    good = small_recipe(workshop.home.root)
    bad = Recipe(learning_rate=-1.0)
    with pytest.raises(ProblemsError) as caught:
        workshop.runs.launch(bad, plan_for(good), token="t")
    assert {problem.where for problem in caught.value.problems} == {"model", "datasets", "learning_rate"}
    other = msgspec.structs.replace(good, lora_rank=3)
    with pytest.raises(ProblemsError, match="other settings"):
        workshop.runs.launch(good, plan_for(other), token="t")
    assert list(workshop.home.runs.iterdir()) == []


def test_a_relative_path_is_refused_at_launch(workshop: Workshop) -> None:
    recipe = msgspec.structs.replace(small_recipe(workshop.home.root), datasets=(DatasetRef("rows.jsonl"),))
    with pytest.raises(ProblemsError) as caught:
        workshop.runs.launch(recipe, plan_for(recipe), token="t")
    assert [(problem.code, problem.where) for problem in caught.value.problems] == [("path.relative", "datasets")]
    assert list(workshop.home.runs.iterdir()) == []


@pytest.mark.scenario("S8")
def test_an_engine_that_ends_before_its_first_event_gives_its_last_line_as_the_reason(workshop: Workshop) -> None:
    workshop.options(exit_before_events=1)
    run = workshop.launch()
    workshop.until_status(run, "lost")
    reason = workshop.store.run(run).reason
    assert reason is not None
    assert reason.code == "run.lost.before_first_event"
    assert reason.message.endswith("ImportError: the moon is in the wrong phase")
    assert reason.arguments["exit_code"] == 1
    assert workshop.runs.recipe(run).model is not None  # the form can be filled again


@pytest.mark.scenario("S4")
def test_a_killed_engine_leaves_a_run_that_says_so_and_resumes(workshop: Workshop) -> None:
    workshop.options(steps=8, checkpoint_every=2, kill_at=5)
    run = workshop.launch()
    workshop.until_status(run, "lost")
    row = workshop.store.run(run)
    assert (row.step, row.checkpoint_step) == (5, 4)
    assert row.reason is not None
    assert row.reason.code == "run.lost.signal"
    assert "SIGKILL" in row.reason.message
    assert row.reason.remedy == "Resume from step 4."
    workshop.options(steps=8, checkpoint_every=2)
    workshop.runs.resume(run)
    workshop.runs.resume(run)  # pressed twice
    workshop.until_status(run, "finished")
    row = workshop.store.run(run)
    assert (row.attempt, row.step, row.reason) == (2, 8, None)
    curve = workshop.store.series(run, "loss")
    assert curve.steps == tuple(range(1, 9))  # step 5 once, as the second attempt had it
    assert curve.tokens == tuple(range(100, 900, 100))
    assert list(curve.seconds) == sorted(curve.seconds)


@pytest.mark.scenario("S23")
def test_a_kill_for_memory_is_named_as_one_also_by_the_next_window(
    workshop: Workshop, open_workshop: Callable[[], Workshop], monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = iter([3, 4, 4, 4])
    monkeypatch.setattr("studio.runs.liveness.kills_for_memory", lambda: next(kills))
    workshop.options(steps=8, kill_at=2)
    run = workshop.launch()
    workshop.until_status(run, "lost")
    workshop.close()
    workshop.home.history.unlink()
    again = open_workshop()
    again.until_status(run, "lost")
    reason = again.store.run(run).reason
    assert reason is not None
    assert reason.code == "run.lost.memory"
    assert "memory ran out" in reason.message


@pytest.mark.scenario("S4")
def test_a_torn_last_line_costs_nothing_but_itself(workshop: Workshop) -> None:
    workshop.options(steps=6, checkpoint_every=2, tear_at=3)
    run = workshop.launch()
    workshop.until_status(run, "lost")
    assert workshop.store.series(run, "loss").steps == (1, 2, 3)
    workshop.options(steps=6)
    workshop.runs.resume(run)
    workshop.until_status(run, "finished")
    assert workshop.store.run(run).bad_lines == 1
    assert workshop.store.series(run, "loss").steps == tuple(range(1, 7))


@pytest.mark.scenario("S4")
def test_a_reboot_is_named(workshop: Workshop, open_workshop: Callable[[], Workshop]) -> None:
    workshop.options(steps=500, step_seconds=0.01, checkpoint_every=2)
    run = workshop.launch()
    workshop.until(lambda: workshop.store.count() == 1 and workshop.store.run(run).step > 3)
    folder = workshop.runs.folder(run)
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    assert beat is not None
    os.kill(beat.pid, signal.SIGKILL)
    workshop.close()
    rebooted = msgspec.structs.replace(beat, boot_id="another boot")
    heartbeat.write_heartbeat(folder.heartbeat, rebooted)
    again = open_workshop()
    again.until_status(run, "lost")
    reason = again.store.run(run).reason
    assert reason is not None
    assert reason.code == "run.lost.reboot"
    assert again.store.run(run).checkpoint_step is not None


@pytest.mark.scenario("S1")
def test_a_window_that_went_away_finds_the_run_alive_and_its_curve_whole(
    workshop: Workshop, open_workshop: Callable[[], Workshop]
) -> None:
    workshop.options(steps=60, step_seconds=0.02)
    run = workshop.launch()
    workshop.until(lambda: workshop.store.count() == 1 and workshop.store.run(run).step >= 5)
    workshop.close()
    again = open_workshop()
    again.runs.refresh()
    assert again.store.run(run).status == "training"
    assert again.runs.is_alive(run)
    again.until_status(run, "finished")
    assert again.store.series(run, "loss").steps == tuple(range(1, 61))


@pytest.mark.scenario("S3")
def test_stop_ends_the_engine_and_stopping_twice_is_harmless(workshop: Workshop) -> None:
    workshop.options(steps=10_000, step_seconds=0.01)
    run = workshop.launch()
    workshop.until_status(run, "training")
    first = workshop.runs.stop(run)
    asked = workshop.runs.asked(run)
    assert [command.command for command in asked] in ([], ["StopRun"])
    try:
        second = workshop.runs.stop(run)
    except SurroundingsError as error:
        assert error.code == "run.not_running"  # it was that quick
    else:
        assert second != first
    workshop.until_status(run, "stopped")
    workshop.until(lambda: not workshop.runs.is_alive(run))
    row = workshop.store.run(run)
    assert row.checkpoint_step == row.step
    with pytest.raises(SurroundingsError, match="No engine"):
        workshop.runs.stop(run)


@pytest.mark.scenario("S3")
def test_an_engine_that_does_not_listen_is_ended_with_its_descendants(workshop: Workshop) -> None:
    workshop.options(steps=10_000, step_seconds=0.01, deaf=1, child=1)
    run = workshop.launch()
    workshop.until_status(run, "training")
    child = int((workshop.runs.folder(run).path / "child.pid").read_text())
    assert psutil.pid_exists(child)
    began = time.monotonic()
    assert workshop.runs.end_now(run, patience_seconds=0.3)
    assert time.monotonic() - began < 5
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    workshop.until_status(run, "lost")
    reason = workshop.store.run(run).reason
    assert reason is not None
    assert reason.arguments["exit_code"] == -signal.SIGKILL


@pytest.mark.scenario("S3")
def test_a_stop_that_takes_too_long_is_enforced_by_refresh(workshop: Workshop) -> None:
    workshop.options(steps=10_000, step_seconds=0.01, deaf=1)
    run = workshop.launch()
    workshop.until_status(run, "training")
    workshop.runs.stop(run, patience_seconds=0.1)
    workshop.until_status(run, "lost")


@pytest.mark.scenario("S2")
def test_a_log_that_nobody_reads_does_not_stop_the_engine(workshop: Workshop) -> None:
    workshop.options(steps=10, spam_bytes=5_000_000)
    run = workshop.launch()
    workshop.until_status(run, "finished")
    assert workshop.runs.folder(run).engine_log.stat().st_size > 50_000_000


def test_pause_checkpoint_and_unpause_are_answered(workshop: Workshop) -> None:
    workshop.options(steps=10_000, step_seconds=0.005)
    run = workshop.launch()
    workshop.until_status(run, "training")
    workshop.runs.pause(run)
    workshop.until_status(run, "paused")
    workshop.runs.checkpoint(run)
    workshop.until(lambda: bool(workshop.store.checkpoints(run)))
    workshop.runs.unpause(run)
    workshop.until_status(run, "training")
    assert workshop.runs.asked(run) == []
    kinds = [event.kind for event in workshop.store.events(run, kinds=["CommandAccepted"])]
    assert len(kinds) == 3


def test_a_resume_without_a_checkpoint_or_after_the_end_is_refused(workshop: Workshop) -> None:
    workshop.options(steps=5, kill_at=2)
    run = workshop.launch()
    workshop.until_status(run, "lost")
    with pytest.raises(SurroundingsError, match="no checkpoint"):
        workshop.runs.resume(run)
    workshop.options(steps=2, checkpoint_every=1)
    finished = workshop.launch("other")
    workshop.until_status(finished, "finished")
    with pytest.raises(SurroundingsError, match="has finished"):
        workshop.runs.resume(finished)


def test_a_resume_that_comes_to_nothing_says_why(workshop: Workshop) -> None:
    workshop.options(steps=50, step_seconds=0.01, checkpoint_every=1)
    run = workshop.launch()
    workshop.until(lambda: workshop.store.count() == 1 and workshop.store.run(run).step > 2)
    workshop.runs.stop(run)
    workshop.until(lambda: not workshop.runs.is_alive(run))
    workshop.options(exit_before_events=1)
    workshop.runs.resume(run)
    workshop.until(lambda: workshop.runs.start_failure(run) is not None)
    failure = workshop.runs.start_failure(run)
    assert failure is not None
    assert "wrong phase" in failure.message
    assert workshop.store.run(run).status == "stopped"


def test_a_run_of_another_host_is_read_only(workshop: Workshop) -> None:
    workshop.options(steps=3, checkpoint_every=1)
    run = workshop.launch()
    workshop.until_status(run, "finished")
    folder = workshop.runs.folder(run)
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    assert beat is not None
    heartbeat.write_heartbeat(folder.heartbeat, msgspec.structs.replace(beat, host="elsewhere"))
    for action in (workshop.runs.stop, workshop.runs.pause, workshop.runs.resume):
        with pytest.raises(SurroundingsError, match="belongs to elsewhere"):
            action(run)
    before = folder.user.read_bytes()
    with pytest.raises(SurroundingsError, match="belongs to elsewhere"):
        workshop.runs.change(run, name="mine now")
    assert folder.user.read_bytes() == before
    [review] = workshop.runs.review_deletion([run])
    assert review.forbidden is not None


def test_deleting_reviews_first_and_refuses_a_live_run(workshop: Workshop) -> None:
    workshop.options(steps=3, checkpoint_every=1)
    done = workshop.launch("a")
    workshop.until_status(done, "finished")
    workshop.options(steps=10_000, step_seconds=0.01)
    live = workshop.launch("b")
    workshop.until_status(live, "training")
    reviews = {review.run: review for review in workshop.runs.review_deletion([done, live])}
    assert reviews[done].forbidden is None
    assert reviews[done].checkpoints == 3
    assert reviews[done].size_bytes > 100
    with pytest.raises(SurroundingsError, match="Stop it first"):
        workshop.runs.delete([done, live])
    assert workshop.runs.folder(done).path.exists()
    workshop.runs.delete([done])
    assert workshop.runs.refresh().removed == {done}
    assert workshop.store.count() == 1


def test_the_same_name_twice_makes_two_runs(workshop: Workshop) -> None:
    workshop.options(steps=1)
    runs = [workshop.launch(token, name="same") for token in ("a", "b")]
    workshop.until(lambda: workshop.store.count() == 2)
    assert len(set(runs)) == 2
    rows: list[RunRow] = workshop.store.runs()
    assert [row.name for row in rows] == ["same", "same"]
    with pytest.raises(SurroundingsError, match="more than one"):
        workshop.store.find("same")
    assert workshop.store.find(runs[0].lower()).id == runs[0]
    assert workshop.store.find("last").id == max(runs)
