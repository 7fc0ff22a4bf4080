"""The history is an index: it can be deleted, read twice, read by several, and says the same."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from engine.protocol import events as e
from engine.protocol.codec import to_line
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import resolve, to_yaml
from studio.home import Home, open_home
from studio.runs.database import open_history
from studio.runs.identity import new_run_id
from studio.runs.query import RunQuery
from studio.runs.store import RunStore
from studio.runs.user_file import Parent, UserData, read_user, write_user
from tests.helpers.plans import small_recipe
from tests.studio.runs.conftest import Workshop


def everything(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of ours, sorted; the full-text index by its content, not by its inner tables."""
    with sqlite3.connect(path) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        ours = [name for name in names if name != "_sqlite_migrations" and not name.startswith("runs_search_")]
        content = {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in ours}
    connection.close()
    return content


def recorded_run(home: Home, steps: int, *, name: str = "", tags: tuple[str, ...] = ()) -> str:
    """A finished run as an engine would have left it."""
    run = new_run_id()
    folder = home.run(run)
    folder.create()
    recipe = small_recipe(home.root)
    folder.recipe.write_text(to_yaml(resolve(recipe)))
    folder.plan.write_text("{}")
    write_user(folder, UserData(name, tags, "notes of " + name))
    with folder.events.open("wb") as file:
        for sequence in range(1, steps + 1):
            file.write(to_line(step_event(sequence)))
        file.write(to_line(finished_event(steps + 1, steps)))
    return run


def step_event(step: int, attempt: int = 1) -> e.StepCompleted:
    return e.StepCompleted(
        sequence=step, attempt=attempt, step=step, time_utc="2026-12-01T00:00:00.000Z", elapsed_seconds=float(step),
        loss=1.0 / step, learning_rate=1e-4, grad_norm=1.0, tokens=10, trained_tokens=10, tokens_per_second=5.0,
        step_seconds=1.0, epoch=0.1,
    )  # fmt: skip


def finished_event(sequence: int, step: int) -> e.RunFinished:
    return e.RunFinished(
        sequence=sequence, attempt=1, step=step, time_utc="2026-12-01T00:01:00.000Z", elapsed_seconds=60.0,
        final_loss=0.5, best_evaluation_loss=0.4, best_step=step, trained_tokens=10 * step, seconds=60.0,
    )  # fmt: skip


def test_a_deleted_history_is_rebuilt_equal_to_the_last_row(
    workshop: Workshop, open_workshop: Callable[[], Workshop]
) -> None:
    workshop.options(steps=6, checkpoint_every=2, kill_at=5)
    lost = workshop.launch("a")
    workshop.until_status(lost, "lost")
    workshop.options(steps=4)
    done = workshop.launch("b", name="kept")
    workshop.until_status(done, "finished")
    recorded_run(workshop.home, 20)
    workshop.runs.change(done, tags=["useful", " first "], notes="Ein Hügel", votes={"p": "a"}, archived=True)
    workshop.runs.change(lost, parent=Parent(done, 4))
    workshop.runs.refresh()
    workshop.close()
    before = everything(workshop.home.history)
    for suffix in ("", "-wal", "-shm"):
        workshop.home.history.with_name(f"history.db{suffix}").unlink(missing_ok=True)
    again = open_workshop()
    again.runs.refresh()
    again.close()
    after = everything(again.home.history)
    assert before == after
    assert len(before["metrics"]) > 100
    assert before["tags"] == [(done, "first"), (done, "useful")]


def test_reading_again_changes_nothing(workshop: Workshop, open_workshop: Callable[[], Workshop]) -> None:
    run = recorded_run(workshop.home, 50)
    assert workshop.runs.refresh().changed == {run}
    assert not workshop.runs.refresh()
    before = everything(workshop.home.history)
    workshop.close()
    again = open_workshop()
    assert not again.runs.refresh()
    again.close()
    assert everything(again.home.history) == before


def test_a_file_that_shrank_or_was_replaced_is_read_from_its_beginning(workshop: Workshop) -> None:
    run = recorded_run(workshop.home, 10)
    workshop.runs.refresh()
    events = workshop.home.run(run).events
    events.write_bytes(b"".join(to_line(step_event(step)) for step in range(1, 4)))
    workshop.runs.refresh()
    assert workshop.store.series(run, "loss").steps == (1, 2, 3)
    replacement = events.with_name("other")
    replacement.write_bytes(b"".join(to_line(step_event(step + 100)) for step in range(1, 90)))
    replacement.replace(events)
    workshop.runs.refresh()
    assert workshop.store.series(run, "loss").steps == tuple(range(101, 190))


def test_a_torn_last_line_is_left_for_later(workshop: Workshop) -> None:
    run = recorded_run(workshop.home, 0)
    events = workshop.home.run(run).events
    line = to_line(step_event(1))
    events.write_bytes(line[:40])
    workshop.runs.refresh()
    assert workshop.store.metric_keys(run) == []
    with events.open("ab") as file:
        file.write(line[40:])
    workshop.runs.refresh()
    assert workshop.store.series(run, "loss").steps == (1,)
    assert workshop.store.run(run).bad_lines == 0


def test_an_event_of_a_newer_release_is_kept_by_name(workshop: Workshop) -> None:
    run = recorded_run(workshop.home, 1)
    with workshop.home.run(run).events.open("ab") as file:
        file.write(b'{"event":"TeaServed","sequence":9,"attempt":1,"step":1,"cups":2}\n')
    workshop.runs.refresh()
    assert [event.kind for event in workshop.store.events(run)] == ["RunFinished", "TeaServed"]


def test_a_recipe_of_a_newer_release_leaves_the_run_readable(workshop: Workshop) -> None:
    run = recorded_run(workshop.home, 3)
    workshop.home.run(run).recipe.write_text("version: 99\nnonsense: 1\n")
    workshop.runs.refresh()
    row = workshop.store.run(run)
    assert (row.status, row.step) == ("finished", 3)


@pytest.mark.scenario("S12")
def test_500_runs_open_in_a_second_and_only_what_is_new_is_read(
    tmp_path: Path, open_workshop: Callable[[], Workshop], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = open_home(tmp_path / "home")
    runs = [recorded_run(home, 20, name=f"run {number}", tags=("many",)) for number in range(500)]
    first = open_workshop()
    assert len(first.runs.refresh().changed) == 500
    first.close()
    began = time.monotonic()
    second = open_workshop()
    second.runs.refresh()
    page = second.store.runs(limit=50)
    assert len(page) == 50
    assert second.store.count() == 500
    assert time.monotonic() - began < 1.0
    with home.run(runs[7]).events.open("ab") as file:
        file.write(b'{"event":"TeaServed","sequence":22,"attempt":1,"step":20,"cups":2}\n')
    opened: list[Path] = []
    real_open = Path.open

    def noting_open(path: Path, mode: str = "r") -> IO[Any]:  # Any: text or bytes, as the mode says
        opened.append(path)
        return real_open(path, mode)

    monkeypatch.setattr(Path, "open", noting_open)
    seen: set[str] = set()
    for _ in range(11):  # old runs take turns: within a second at ten refreshes a second
        seen |= second.runs.refresh().changed
    assert seen == {runs[7]}
    assert {path.name for path in opened} <= {"events.jsonl", "history.db"}
    assert {path.parent.name for path in opened if path.name == "events.jsonl"} == {runs[7]}


@pytest.mark.scenario("S9")
def test_two_writers_and_two_readers_see_no_lock_and_lose_no_row(
    workshop: Workshop, open_workshop: Callable[[], Workshop]
) -> None:
    """A short hour: two engines append in bursts while two windows refresh and query."""
    runs = [recorded_run(workshop.home, 1), recorded_run(workshop.home, 1)]
    other = open_workshop()
    failures: list[BaseException] = []
    total, done = 400, threading.Event()

    def write(run: str) -> None:
        with workshop.home.run(run).events.open("ab") as file:
            for step in range(2, total + 1):
                line = to_line(step_event(step))
                file.write(line[: step % 30])
                file.flush()
                file.write(line[step % 30 :])
                file.flush()
                time.sleep(0.001)

    def watch(window: Workshop) -> None:
        try:
            while not done.is_set():
                window.runs.refresh()
                window.store.runs()
                window.store.series(runs[0], "loss")
                window.runs.change(runs[1], notes=str(time.monotonic()))
        except BaseException as error:  # whatever a thread meets must reach the test
            failures.append(error)

    writers = [threading.Thread(target=write, args=(run,)) for run in runs]
    watchers = [threading.Thread(target=watch, args=(window,)) for window in (workshop, other)]
    for thread in (*watchers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in watchers:
        thread.join()
    assert failures == []
    for window in (workshop, other):  # one of them ingests, whichever came first
        window.runs.refresh()
    for run in runs:
        assert other.store.series(run, "loss").steps == tuple(range(1, total + 1))


def test_a_second_window_reads_what_the_first_ingests_and_takes_over(
    workshop: Workshop, open_workshop: Callable[[], Workshop]
) -> None:
    run = recorded_run(workshop.home, 3)
    workshop.runs.refresh()
    other = open_workshop()
    assert other.runs.refresh().changed == {run}
    assert not other.runs.refresh()
    with workshop.home.run(run).events.open("ab") as file:
        file.write(to_line(step_event(4)))
    assert not other.runs.refresh()
    workshop.runs.refresh()
    assert other.runs.refresh().changed == {run}
    workshop.runs.change(run, tags=["tagged elsewhere"])
    workshop.runs.refresh()
    assert other.runs.refresh().changed == {run}
    workshop.close()
    with workshop.home.run(run).events.open("ab") as file:
        file.write(to_line(step_event(5)))
    assert other.runs.refresh().changed == {run}
    assert other.store.run(run).step == 5


def test_a_run_that_cannot_be_read_does_not_hide_the_others(workshop: Workshop) -> None:
    good, bad = recorded_run(workshop.home, 2), recorded_run(workshop.home, 2)
    events = workshop.home.run(bad).events
    content = events.read_bytes()
    events.unlink()
    events.mkdir()
    (workshop.home.runs / "20261399T990000-AAAA").mkdir()  # looks like an id and is none
    assert workshop.runs.refresh().changed == {good, bad}
    row = workshop.store.run(bad)
    assert row.status == "unreadable"
    assert row.reason is not None
    assert "events.jsonl" in row.reason.message
    assert not workshop.runs.refresh()
    events.rmdir()
    events.write_bytes(content)
    workshop.runs.refresh()
    assert (workshop.store.run(bad).status, workshop.store.run(bad).trained_tokens) == ("finished", 20)
    recipe = workshop.home.run(bad).recipe
    recipe.rename(recipe.with_name("away"))
    recipe.mkdir()
    workshop.runs.refresh()
    recipe.rmdir()
    recipe.with_name("away").rename(recipe)
    workshop.runs.refresh()
    row = workshop.store.run(bad)
    assert (row.status, row.trained_tokens, row.model) == ("finished", 20, "SmolLM2-135M")


def test_search_filters_sort_and_pages(workshop: Workshop) -> None:
    names = ["Kittens in prose", 'Quotes "OR" NOT', "Kettles"]
    runs = [recorded_run(workshop.home, 2 + index, name=name) for index, name in enumerate(names)]
    workshop.runs.change(runs[2], tags=["keep"], archived=True)
    workshop.runs.refresh()
    store = workshop.store

    def found(**query: object) -> set[str]:
        return {row.id for row in store.runs(RunQuery(**query))}  # type: ignore[arg-type]  # the test names real keys

    assert found(search="kit pro") == {runs[0]}
    assert found(search='"or" not') == {runs[1]}
    assert found(search="SmolLM2", archived=None) == set(runs)
    assert found(tags=("keep",), archived=True) == {runs[2]}
    assert found(statuses=("failed",)) == set()
    by_step = store.runs(RunQuery(sort="step", descending=False, archived=None))
    assert [row.id for row in by_step] == runs
    assert [row.id for row in store.runs(RunQuery(sort="step", archived=None), offset=1, limit=1)] == [runs[1]]
    assert store.tags() == [("keep", 1)]


def test_a_history_that_cannot_be_opened_is_the_surroundings_fault(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.mkdir()  # as a full disk or a folder without permission: SQLite cannot open it
    with pytest.raises(SurroundingsError) as caught:
        open_history(path)
    assert caught.value.code == "history.unusable"
    assert path.is_dir()


def test_a_damaged_history_is_moved_aside_and_rebuilt(workshop: Workshop) -> None:
    run = recorded_run(workshop.home, 2)
    workshop.close()
    workshop.home.history.write_bytes(b"this is no database" * 100)
    for suffix in ("-wal", "-shm"):
        workshop.home.history.with_name(f"history.db{suffix}").unlink(missing_ok=True)
    store = RunStore(workshop.home.history)
    assert store.count() == 0
    store.close()
    assert list(workshop.home.root.glob("history.db.damaged-*"))
    assert read_user(workshop.home.run(run)).notes == "notes of "


def test_a_long_curve_is_thinned_without_losing_its_spikes(workshop: Workshop) -> None:
    run = recorded_run(workshop.home, 0)
    lines = [to_line(step_event(step)) for step in range(1, 5001)]
    spike = step_event(2500)
    lines[2499] = to_line(type(spike)(**{f: getattr(spike, f) for f in spike.__struct_fields__} | {"loss": 99.0}))
    lines[3000] = lines[3000].replace(b'"loss":' + str(1 / 3001).encode(), b'"loss":null')
    workshop.home.run(run).events.write_bytes(b"".join(lines))
    workshop.runs.refresh()
    assert len(workshop.store.series(run, "loss").steps) == 5000
    thin = workshop.store.series(run, "loss", most_points=200)
    assert len(thin.steps) <= 202
    assert 99.0 in thin.values
    assert None in thin.values
    assert (thin.steps[0], thin.steps[-1]) == (1, 5000)
    assert list(thin.steps) == sorted(thin.steps)
    assert workshop.store.series(run, "loss", after_step=4990).steps == tuple(range(4991, 5001))


def test_a_number_that_the_history_cannot_hold_costs_its_line_and_no_other_run(workshop: Workshop) -> None:
    good, odd, odder = (recorded_run(workshop.home, 2) for _ in range(3))
    with workshop.home.run(odd).events.open("ab") as file:
        file.write(b'{"event":"FutureEvent","sequence":9,"attempt":99999999999999999999,"step":1}\n')
    with workshop.home.run(odder).events.open("ab") as file:
        file.write(to_line(step_event(3)).replace(b'"trained_tokens":10', b'"trained_tokens":99999999999999999999'))
    workshop.runs.refresh()
    row = workshop.store.run(odd)
    assert (row.status, row.step, row.bad_lines) == ("finished", 2, 1)
    assert workshop.store.run(odder).status == "unreadable"
    assert workshop.store.run(good).status == "finished"


def test_the_untrained_model_is_never_the_best(workshop: Workshop) -> None:
    run = recorded_run(workshop.home, 2)
    events = workshop.home.run(run).events
    first = e.EvaluationCompleted(
        sequence=1, attempt=1, step=0, time_utc="2026-12-01T00:00:00.000Z", elapsed_seconds=0.0,
        evaluation_loss=1.0, accuracy=None, trained_tokens=10, seconds=0.1,
    )  # fmt: skip
    later = msgspec.structs.replace(first, sequence=4, step=2, evaluation_loss=1.5)
    events.write_bytes(b"".join(to_line(event) for event in (first, step_event(2), step_event(3), later)))
    workshop.runs.refresh()
    row = workshop.store.run(run)
    assert (row.evaluation_loss, row.best_evaluation_loss, row.best_step) == (1.5, 1.5, 2)
