"""One run as Live shows it: read off the GUI thread, grown by what is new, given out as a frozen snapshot."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np

from studio.errors import EngineError, Problem
from studio.planning import Plan
from studio.recipes import Recipe
from studio.runs.commands import Asked
from studio.runs.log_tail import last_lines
from studio.runs.query import RunQuery
from studio.runs.rows import ACTIVE, CheckpointRow, EventRow, RunRow, SampleRow, Series
from ui.services import Services
from ui.widgets.chart_series import Numbers, Points

CURVES = ("loss", "evaluation_loss", "learning_rate", "grad_norm", "tokens_per_second", "step_seconds",
          "cpu_percent", "resident_bytes")  # fmt: skip
_LOG_LINES = 12


@dataclass(frozen=True)
class Snapshot:
    """All of one run at one moment. `points` by metric key; memory by category in bytes, measured last."""

    row: RunRow
    points: Mapping[str, Points]
    events: tuple[EventRow, ...]
    samples: tuple[SampleRow, ...]
    checkpoints: tuple[CheckpointRow, ...]
    asked: tuple[Asked, ...]
    memory: Mapping[str, float]
    plan: Plan | None
    recipe: Recipe | None
    recent: tuple[RunRow, ...]
    start_failure: Problem | None
    log: tuple[str, ...]
    """The last lines of the engine's own output; only where the run failed or was lost."""

    @property
    def can_resume(self) -> bool:
        """Whether an engine could go on from a checkpoint that stands."""
        return self.row.status in ("stopped", "failed", "lost") and bool(self.checkpoints)


@dataclass
class _Curve:
    step: Numbers = field(default_factory=lambda: Points().step)
    value: Numbers = field(default_factory=lambda: Points().step)
    time: Numbers = field(default_factory=lambda: Points().step)
    tokens: Numbers = field(default_factory=lambda: Points().step)

    def take(self, series: Series) -> None:
        """Add what is new; a last point that was written again is replaced."""
        if not series.steps:
            return
        new = Points.of(series.steps, series.values, series.seconds, series.tokens)
        kept = int(np.searchsorted(self.step, series.steps[0]))
        self.step = np.concatenate((self.step[:kept], new.step))
        self.value = np.concatenate((self.value[:kept], new.value))
        self.time = np.concatenate((self.time[:kept], new.time))
        self.tokens = np.concatenate((self.tokens[:kept], new.tokens))

    def points(self) -> Points:
        return Points(self.step, self.value, self.time, self.tokens)


class LiveReader:
    """Reads one run again and again; every read asks only for what is new. Any thread; reads take turns."""

    def __init__(self, services: Services, run_id: str) -> None:
        self.run_id = run_id
        self._services = services
        self._turn = threading.Lock()
        self._attempt = -1
        self._curves: dict[str, _Curve] = {}
        self._events: list[EventRow] = []
        self._plan: Plan | None = None
        self._recipe: Recipe | None = None

    def read(self) -> Snapshot:
        """The run now. Raises SurroundingsError("run.unknown") where it has been deleted."""
        with self._turn:
            store, runs = self._services.store, self._services.runs
            row = store.run(self.run_id)
            if row.attempt != self._attempt:
                self._begin(row)
            for key in CURVES:
                curve = self._curves[key]
                after = int(curve.step[-1]) - 1 if len(curve.step) else -1
                curve.take(store.series(self.run_id, key, after_step=after))
            last = self._events[-1].sequence if self._events else 0
            self._events.extend(store.events(self.run_id, after=last, limit=100_000))
            ended = row.status in ("failed", "lost")
            return Snapshot(
                row=row,
                points={key: curve.points() for key, curve in self._curves.items()},
                events=tuple(self._events),
                samples=tuple(store.samples(self.run_id)),
                checkpoints=tuple(store.checkpoints(self.run_id)),
                asked=tuple(runs.asked(self.run_id)),
                memory=self._memory(),
                plan=self._plan,
                recipe=self._recipe,
                recent=recent_runs(self._services),
                start_failure=runs.start_failure(self.run_id),
                log=tuple(last_lines(runs.folder(self.run_id).engine_log, _LOG_LINES)) if ended else (),
            )

    def _begin(self, row: RunRow) -> None:
        """A new attempt may have trained steps again: the curves are read from their beginning."""
        self._attempt = row.attempt
        self._curves = {key: _Curve() for key in CURVES}
        try:
            self._plan = msgspec.json.decode(row.plan, type=Plan)
        except msgspec.MsgspecError:
            self._plan = None  # made by another release: the measured half is still shown
        try:
            self._recipe = self._services.runs.recipe(self.run_id)
        except (OSError, EngineError):
            self._recipe = None

    def _memory(self) -> dict[str, float]:
        store = self._services.store
        keys = [key for key in store.metric_keys(self.run_id) if key.startswith("memory_bytes/")]
        found = {key.partition("/")[2]: store.summary(self.run_id, key) for key in keys}
        return {category: summary.newest for category, summary in found.items() if summary is not None}


def recent_runs(services: Services) -> tuple[RunRow, ...]:
    """Active runs, then the last five of the others; newest first."""
    active = services.store.runs(RunQuery(statuses=tuple(ACTIVE)), limit=50)
    newest = services.store.runs(RunQuery(), limit=5 + len(active))
    return (*active, *[row for row in newest if not row.is_active][:5])
