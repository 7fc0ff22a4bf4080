"""Run folders as each released version left them (tests/frozen_runs) are opened by every later version, for ever.

A new release adds a folder; none is ever changed. They are runs of another machine, so they are also read-only.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.protocol.errors import SurroundingsError
from studio.runs.rows import RunRow
from tests.studio.runs.conftest import Workshop

FROZEN = sorted((Path(__file__).resolve().parents[2] / "frozen_runs").glob("*/*"))


@pytest.fixture(params=FROZEN, ids=lambda path: f"{path.parent.name} {path.name}")
def frozen(request: pytest.FixtureRequest, workshop: Workshop) -> RunRow:
    """The run, copied into a home and read."""
    source: Path = request.param
    shutil.copytree(source, workshop.home.runs / source.name)
    workshop.runs.refresh()
    return workshop.store.run(source.name)


def test_a_frozen_run_is_whole(workshop: Workshop, frozen: RunRow) -> None:
    assert (frozen.status, frozen.name, frozen.tags) == ("finished", "A frozen run", ("frozen",))
    assert (frozen.notes, frozen.votes) == ("Of the first release.", {"What is 3 and 3?": "b"})
    assert (frozen.attempt, frozen.step, frozen.total_steps, frozen.checkpoint_step) == (2, 40, 40, 40)
    assert frozen.bad_lines == 0
    assert frozen.best_evaluation_loss is not None
    assert frozen.trained_tokens > 0
    store = workshop.store
    assert store.series(frozen.id, "loss").steps == tuple(range(1, 41))
    assert store.series(frozen.id, "evaluation_loss").steps == (0, 10, 20, 30, 40)
    assert len(store.samples(frozen.id)) == 5
    assert [checkpoint.step for checkpoint in store.checkpoints(frozen.id)] == [30, 40]
    assert [(export.format, export.state) for export in store.exports(frozen.id)] == [("peft", "passed")]
    assert not [event for event in store.events(frozen.id) if event.kind == "UnknownEvent"]


def test_its_recipe_and_plan_can_be_used_again(workshop: Workshop, frozen: RunRow) -> None:
    assert workshop.runs.recipe(frozen.id).learning_rate == 1e-2
    assert workshop.runs.plan(frozen.id).timeline.total_steps == 40
    assert workshop.runs.asked(frozen.id) == []


def test_it_is_read_only_here(workshop: Workshop, frozen: RunRow) -> None:
    with pytest.raises(SurroundingsError, match="belongs to workstation"):
        workshop.runs.resume(frozen.id)
