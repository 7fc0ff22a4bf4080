"""The plan follows the form: the newest request wins, and counting that nobody wants any more is ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from pytestqt.qtbot import QtBot

from studio.datasets import DataProgress
from studio.errors import Problem, SurroundingsError
from studio.planning.service import Planned
from studio.recipes import DatasetRef, ModelRef, Recipe
from studio.recipes.document import RecipeDocument
from tests.helpers.plans import plan_for
from ui.bridge import Tasks
from ui.views.new_run import plan_session
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_verdict import counting_words
from ui.views.new_run.plan_words import nearest_fix, so_far

RECIPE = Recipe(model=ModelRef("folder", path="/m"), datasets=(DatasetRef("/rows.jsonl"),))
UNCOUNTED = Problem("data_not_measured", "Not counted.", where="datasets")


class Planning:
    """Answers at once what is known; counts until it is let go or cancelled. Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []
        self.go = threading.Event()
        self.cancelled = threading.Event()
        self.counted: set[int | None] = set()
        self.fail: Exception | None = None
        self._inside = threading.Lock()

    def quick(self, recipe: Recipe) -> Planned:
        assert self._inside.acquire(blocking=False), "one at a time"
        time.sleep(0.003)
        self._inside.release()
        self.asked.append(("quick", recipe.sequence_length))
        if self.fail is not None:
            raise self.fail
        problems = () if recipe.sequence_length in self.counted else (UNCOUNTED,)
        return Planned(recipe, plan_for(recipe), problems, model_folder="/m")

    def full(self, recipe: Recipe, on_progress: Callable[[DataProgress], None]) -> Planned:
        self.asked.append(("full", recipe.sequence_length))
        self.cancelled.clear()
        on_progress(DataProgress(id="1", phase="tokenising", done=30, total=120, unit="rows"))
        while not self.go.wait(0.005):
            if self.cancelled.is_set():
                raise SurroundingsError("data.cancelled", "Cancelled.")
        self.counted.add(recipe.sequence_length)
        return Planned(recipe, plan_for(recipe), (), model_folder="/m")

    def faster(self, planned: Planned) -> tuple[object, ...]:
        return ()

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.fixture
def planning() -> Planning:
    return Planning()


@pytest.fixture
def session(qtbot: QtBot, planning: Planning, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlanSession]:
    monkeypatch.setattr(plan_session, "COUNT_AFTER_MILLISECONDS", 1)
    tasks = Tasks()
    services = SimpleNamespace(document=RecipeDocument(RECIPE), planning=planning)
    made = PlanSession(SimpleNamespace(tasks=tasks, services=services))  # type: ignore[arg-type]  # all it asks for
    yield made
    planning.go.set()
    made.close()
    tasks.close()


def document(session: PlanSession) -> RecipeDocument:
    return session._document


def test_a_count_is_waited_for_and_told(qtbot: QtBot, session: PlanSession, planning: Planning) -> None:
    session.refresh()
    qtbot.waitUntil(lambda: session.progress is not None)
    assert session.pending and session.approximate and not session.can_launch
    assert counting_words(session) == "Counting the data: 25 %"
    assert nearest_fix(session) == "", "what is being counted forbids nothing"
    planning.go.set()
    qtbot.waitUntil(lambda: session.can_launch)
    assert session.progress is None and counting_words(session) == ""
    verdict, state, facts = so_far(session)
    assert (verdict, state) == ("Fits", "good") and facts.startswith("RAM 75 % free")


def test_a_change_of_the_data_ends_the_count_of_the_old(qtbot: QtBot, session: PlanSession, planning: Planning) -> None:
    session.refresh()
    qtbot.waitUntil(lambda: session.progress is not None)
    document(session).set("sequence_length", 512)
    qtbot.waitUntil(lambda: ("full", 512) in planning.asked)
    planning.go.set()
    qtbot.waitUntil(lambda: session.can_launch)
    assert planning.counted == {512}, "the old count came to nothing"
    assert session.planned is not None and session.planned.recipe.sequence_length == 512


def test_a_change_of_anything_else_lets_the_count_go_on(qtbot: QtBot, session: PlanSession, planning: Planning) -> None:
    session.refresh()
    qtbot.waitUntil(lambda: session.progress is not None)
    document(session).set("learning_rate", 1e-3)
    assert session.pending
    planning.go.set()
    qtbot.waitUntil(lambda: session.can_launch)
    assert not planning.cancelled.is_set() and session.planned is not None
    assert session.planned.recipe == replace(RECIPE, learning_rate=1e-3)


def test_a_count_that_somebody_else_ended_is_begun_again(
    qtbot: QtBot, session: PlanSession, planning: Planning
) -> None:
    session.refresh()
    qtbot.waitUntil(lambda: session.progress is not None)
    planning.cancel()
    qtbot.waitUntil(lambda: planning.asked.count(("full", None)) == 2)
    planning.go.set()
    qtbot.waitUntil(lambda: session.can_launch)


def test_a_person_may_stop_the_count(qtbot: QtBot, session: PlanSession, planning: Planning) -> None:
    session.refresh()
    qtbot.waitUntil(lambda: session.progress is not None)
    session.stop_counting()
    qtbot.waitUntil(planning.cancelled.is_set)
    assert not session.pending and not session.can_launch and "count again" in nearest_fix(session)
    document(session).set("learning_rate", 1e-3)
    qtbot.waitUntil(lambda: not session.pending)
    assert planning.asked.count(("full", None)) == 1, "it stays stopped"
    planning.go.set()
    document(session).set("sequence_length", 512)
    qtbot.waitUntil(lambda: session.can_launch)


def test_every_method_is_planned_for_its_card(qtbot: QtBot, session: PlanSession, planning: Planning) -> None:
    planning.go.set()
    session.refresh()
    qtbot.waitUntil(lambda: set(session.methods) == {"lora", "full"})
    assert session.methods["full"].plan is not None and session.methods["full"].plan.numerics.method == "full"


def test_a_failure_is_told_and_the_next_plan_forgets_it(qtbot: QtBot, session: PlanSession, planning: Planning) -> None:
    planning.fail = SurroundingsError("home.unwritable", "The home cannot be written.", "Choose another.")
    session.refresh()
    qtbot.waitUntil(lambda: session.failure is not None)
    assert not session.can_launch and not session.pending
    assert session.nearest_fix() == "The home cannot be written. Choose another."
    planning.fail = None
    planning.go.set()
    session.refresh()
    qtbot.waitUntil(lambda: session.can_launch)
    assert session.nearest_fix() == ""
