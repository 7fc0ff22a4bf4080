"""From a recipe to a plan: gather what the planner needs, and say everything that is wrong at once.

    recipe ─┬─► model: config, folder, hash ──┐
            ├─► data: statistics (data worker) ├─► engine.planner.make_plan ─► Plan
            └─► machine ───────────────────────┘

`quick` takes what is known already (tens of milliseconds, no process, no network); `full` measures the data first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.models.registry import ModelDescription
from engine.planner.machine import MachineSpec
from engine.planner.make import make_plan
from engine.protocol.data_messages import DataStatistics
from engine.protocol.errors import EngineError, Problem
from engine.protocol.plan import Plan
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, check, resolve
from studio.datasets.worker import DataWorker, OnProgress
from studio.hub.client import Hub
from studio.planning.data_keys import DATA_KEYS
from studio.planning.faster import Faster, faster
from studio.planning.model_source import ModelSource, find_model, model_problem, pinned

_REMEMBERED = 16


class Planned(msgspec.Struct, frozen=True):
    """What planning found. `recipe` is the one that the plan is for (the model's commit pinned): launch that one.

    `problems` holds every problem of recipe, model, data and plan, each once; those of severity "error" forbid launch.
    """

    recipe: Recipe
    plan: Plan | None = None
    problems: tuple[Problem, ...] = ()
    model: ModelDescription | None = None
    model_folder: str = ""
    statistics: DataStatistics | None = None

    @property
    def can_launch(self) -> bool:
        return self.plan is not None and not any(problem.severity == "error" for problem in self.problems)


class PlanningService:
    """Plans recipes on this machine. Every method blocks; call them off the GUI thread, one at a time."""

    def __init__(
        self, hub: Callable[[], Hub], data: DataWorker, machine: Callable[[], MachineSpec], tokens_cache: Path
    ) -> None:
        self._hub = hub
        self._data = data
        self._machine = machine
        self._tokens_cache = tokens_cache
        self._measured: dict[str, DataStatistics] = {}
        self._seen: dict[ModelRef, tuple[list[tuple[str, int, int]], ModelSource]] = {}

    def quick(self, recipe: Recipe, *, machine: MachineSpec | None = None) -> Planned:
        """A plan out of what is known now; data that was not measured shows as a problem `data_not_measured`."""
        return self._plan(recipe, machine, lambda source: self._known(recipe, source), may_ask_hub=False)

    def full(
        self, recipe: Recipe, on_progress: OnProgress | None = None, *, machine: MachineSpec | None = None
    ) -> Planned:
        """A plan with the data tokenised and counted, as launching wants it. May take long; `cancel` ends it.

        Raises SurroundingsError("data.cancelled"); everything else that fails is among the problems.
        """
        return self._plan(recipe, machine, lambda source: self._measure(recipe, source, on_progress), may_ask_hub=True)

    def faster(self, planned: Planned) -> tuple[Faster, ...]:
        """Changes that would end the planned run sooner; a quick plan for each. Empty where nothing was planned."""
        if planned.plan is None:
            return ()
        return faster(planned.recipe, planned.plan, lambda changed: self.quick(changed).plan)

    def cancel(self) -> None:
        """End a measuring that is under way, from any thread."""
        self._data.cancel()

    def describe(self, recipe: Recipe, *, may_ask_hub: bool = False) -> ModelSource:
        """The recipe's model. Raises SurroundingsError."""
        reference = recipe.model or ModelRef()
        source = find_model(reference, self._hub, may_ask_hub=may_ask_hub)
        if source.folder:
            while len(self._seen) >= _REMEMBERED:
                self._seen.pop(next(iter(self._seen)))
            self._seen[reference] = (_folder_stamp(source.folder), source)
        return source

    def _glance(self, recipe: Recipe) -> ModelSource:
        """The recipe's model as it was found last, if its files have not changed: a keystroke does not wait for a scan
        of the whole cache."""
        seen = self._seen.get(recipe.model or ModelRef())
        if seen is not None and seen[0] == _folder_stamp(seen[1].folder):
            return seen[1]
        return self.describe(recipe)

    def _plan(
        self, recipe: Recipe, machine: MachineSpec | None,
        data: Callable[[ModelSource], DataStatistics | None], *, may_ask_hub: bool,
    ) -> Planned:  # fmt: skip
        problems = check(recipe)
        if any(problem.code == "no_model" for problem in problems):
            return Planned(recipe, problems=tuple(problems))
        try:
            source = self.describe(recipe, may_ask_hub=True) if may_ask_hub else self._glance(recipe)
            description = source.description()
        except EngineError as error:
            return Planned(recipe, problems=(*problems, model_problem(error)))
        recipe = pinned(recipe, source)
        statistics: DataStatistics | None = None
        if not problems and source.folder:
            try:
                statistics = data(source)
            except EngineError as error:
                if error.code == "data.cancelled":
                    raise
                problems.append(_data_problem(error))
        plan: Plan | None = None
        if not [problem for problem in problems if problem.where not in ("datasets", "")]:
            try:
                plan = make_plan(resolve(recipe), source.config, statistics, machine or self._machine(), source.hash)
            except EngineError as error:
                problems.append(error.problem())
        return Planned(recipe, plan, _merged(problems, plan), description, source.folder, statistics)

    def _known(self, recipe: Recipe, source: ModelSource) -> DataStatistics | None:
        return self._measured.get(_data_key(recipe, source))

    def _measure(self, recipe: Recipe, source: ModelSource, on_progress: OnProgress | None) -> DataStatistics:
        key = _data_key(recipe, source)
        found = self._measured.get(key)
        if found is None:
            found = self._data.measure(pinned(recipe, source), Path(source.folder), self._tokens_cache, on_progress)
            while len(self._measured) >= _REMEMBERED:
                self._measured.pop(next(iter(self._measured)))
            self._measured[key] = found
        return found


def _folder_stamp(folder: str) -> list[tuple[str, int, int]]:
    return [_stamp(path) for path in sorted(Path(folder).glob("*")) if path.suffix in (".json", ".safetensors")]


def _data_problem(error: EngineError) -> Problem:
    problem = error.problem()
    return msgspec.structs.replace(problem, where="datasets")


def _merged(problems: list[Problem], plan: Plan | None) -> tuple[Problem, ...]:
    """Each code and place once. A dataset that could not be read says more than that it was not measured."""
    found = {(problem.code, problem.where): problem for problem in problems}
    unread = any(problem.where == "datasets" for problem in problems)
    for problem in plan.problems if plan else ():
        if not (unread and problem.code == "data_not_measured"):
            found.setdefault((problem.code, problem.where), problem)
    return tuple(found.values())


def _data_key(recipe: Recipe, source: ModelSource) -> str:
    """Everything that the statistics depend on: the settings, the files as they are now, the tokenizer's folder."""
    resolved = resolve(pinned(recipe, source))
    settings = {key: getattr(resolved, key) for key in sorted(DATA_KEYS)}
    files = [_stamp(path) for ref in (*recipe.datasets, *recipe.evaluation_datasets) for path in _files(ref)]
    tokenizer = [_stamp(path) for path in sorted(Path(source.folder).glob("*token*")) if path.is_file()]
    content = msgspec.json.encode([settings, files, tokenizer, source.folder], order="deterministic")
    return hashlib.sha256(content).hexdigest()


def _files(reference: DatasetRef) -> list[Path]:
    path = Path(reference.path)
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return (str(path), -1, -1)
    return (str(path), stat.st_size, stat.st_mtime_ns)
