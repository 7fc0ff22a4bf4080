"""The plan of the recipe that New run edits, kept up to date off the GUI thread.

    document changes ─► quick (what is known now; the latest request wins) ─► changed
                          └─► full, where the data was not counted yet      ─► changed ─► alternatives ─► changed

Figures that a newer plan will replace are approximate: `approximate` says so, and everything that shows them marks it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from studio.errors import Problem
from studio.planning.data_keys import DATA_KEYS
from studio.recipes import FIELDS, Recipe
from ui.bridge import Control, Latest
from ui.context import Context
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.datasets import DataProgress
    from studio.planning.faster import Faster
    from studio.planning.service import Planned

T = TypeVar("T")

COUNT_AFTER_MILLISECONDS = 400
"""How long a form must be left alone before its data is counted: counting may take long, and typing makes it stale."""


class PlanSession(QObject):
    """One a wizard, shared by its pages. `changed` follows everything that this shows."""

    changed = Signal()

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._document = context.services.document
        self._quick = Latest(context.tasks, self)
        self._full = Latest(context.tasks, self, delay=COUNT_AFTER_MILLISECONDS)
        self._others = Latest(context.tasks, self)
        self._quick_turn, self._full_turn = threading.Lock(), threading.Lock()
        self._counting = threading.Event()
        self._stale = True
        self.counting_stopped = False
        self.planned: Planned | None = None
        self.failure: Exception | None = None
        self.progress: DataProgress | None = None
        self.methods: dict[str, Planned] = {}
        self.faster: tuple[Faster, ...] = ()
        self._unsubscribe = self._document.subscribe(self._document_changed)

    @property
    def pending(self) -> bool:
        """Whether a newer plan is on its way. What is shown meanwhile is not to be launched."""
        return self._stale or self._quick.pending or self._full.pending

    @property
    def approximate(self) -> bool:
        """Whether the figures shown will be replaced."""
        return self.planned is not None and self.pending

    @property
    def can_launch(self) -> bool:
        """Whether the plan is the newest and nothing forbids it."""
        return not self.pending and self.planned is not None and self.planned.can_launch

    def errors(self) -> list[Problem]:
        """What forbids the launch, the most useful first. Data that is being counted is waited for instead."""
        found = [p for p in self.planned.problems if p.severity == "error"] if self.planned else []
        if self.pending:
            found = [problem for problem in found if problem.code != "data_not_measured"]
        return sorted(found, key=lambda problem: problem.where not in ("model", "datasets"))

    def nearest_fix(self) -> str:
        """Why the launch is refused and what to do about it; "" where it is not."""
        if self.failure is not None:
            return str(words_for(self.failure))
        errors = self.errors()
        return str(words_for(errors[0])) if errors else ""

    def refresh(self) -> None:
        """Plan anew although the recipe is the same: the model came, the machine was measured, files changed."""
        self._request(frozenset())

    def stop_counting(self) -> None:
        """A person does not want to wait: no count until the data changes, or until `refresh`."""
        self.counting_stopped = True
        self._end_counting()
        self._full.cancel()
        self.progress = None
        self.changed.emit()

    def close(self) -> None:
        """Ask for nothing more. Counting that is under way is ended."""
        self._unsubscribe()
        for latest in (self._quick, self._full, self._others):
            latest.cancel()
        self._end_counting()

    def _document_changed(self, keys: frozenset[str]) -> None:
        self._request(keys)

    def _request(self, keys: frozenset[str]) -> None:
        if self._counting.is_set() and keys & (DATA_KEYS | {"model"}):
            self._end_counting()
        if not keys or keys & (DATA_KEYS | {"model"}):
            self.counting_stopped = False
        self._full.cancel()
        self._others.cancel()
        self._stale, self.progress, self.failure = True, None, None
        recipe = self._document.recipe
        services = self._context.services  # whose `planning` opens the studio: for the worker thread
        work = _in_turn(self._quick_turn, lambda control: services.planning.quick(recipe))
        self._quick.request(work, self._quick_done, self._failed)
        self.changed.emit()

    def _quick_done(self, planned: Planned) -> None:
        self._stale = False
        self.planned = planned
        uncounted = any(problem.code == "data_not_measured" for problem in planned.problems)
        if uncounted and planned.model_folder and not self.counting_stopped and not self._document.problems():
            self._count(planned.recipe)
        else:
            self._plan_alternatives()
        self.changed.emit()

    def _count(self, recipe: Recipe) -> None:
        def work(control: Control) -> Planned:
            def tell(progress: DataProgress) -> None:
                self._counting.set()
                control.progress(progress)

            try:
                return self._context.services.planning.full(recipe, tell)
            finally:
                self._counting.clear()

        self._full.request(_in_turn(self._full_turn, work), self._full_done, self._failed, self._progressed)

    def _full_done(self, planned: Planned) -> None:
        self.planned, self.progress = planned, None
        self._plan_alternatives()
        self.changed.emit()

    def _progressed(self, progress: object) -> None:
        self.progress = cast("DataProgress", progress)
        self.changed.emit()

    def _failed(self, error: Exception) -> None:
        if getattr(error, "code", "") == "data.cancelled":
            self.refresh()  # ended by somebody else, for something else: the count is still wanted
            return
        self._stale, self.failure, self.progress = False, error, None
        self.changed.emit()

    def _plan_alternatives(self) -> None:
        """So that each method's card tells what it would need at these settings, and what would be faster."""
        planned = self.planned
        if planned is None or planned.plan is None:
            self.methods, self.faster = {}, ()
            return
        chosen, recipe = planned.plan.numerics.method, self._document.recipe
        self.methods[chosen] = planned
        others = [method for method, _ in FIELDS["method"].choices if method != chosen]
        services = self._context.services

        def work(control: Control) -> tuple[dict[str, Planned], tuple[Faster, ...]]:
            found = {}
            for method in others:
                control.check()
                found[method] = services.planning.quick(replace(recipe, method=method))
            control.check()
            return found, services.planning.faster(planned)

        self._others.request(_in_turn(self._quick_turn, work), self._alternatives_done)

    def _alternatives_done(self, found: tuple[dict[str, Planned], tuple[Faster, ...]]) -> None:
        self.methods.update(found[0])
        self.faster = found[1]
        self.changed.emit()

    def _end_counting(self) -> None:
        """Only while it is ours: the worker that is killed may otherwise be answering the data page."""
        if self._counting.is_set():
            services = self._context.services
            self._context.tasks.run(lambda control: services.planning.cancel())


def _in_turn(turn: threading.Lock, work: Callable[[Control], T]) -> Callable[[Control], T]:
    """Planning does one thing at a time; whoever waited looks first whether the answer is still wanted."""

    def waiting(control: Control) -> T:
        with turn:
            control.check()
            return work(control)

    return waiting
