"""What the Export screen shows of one run, read in one go off the GUI thread."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studio.errors import SurroundingsError
from studio.exports.forecast import free_bytes, predicted_bytes
from studio.exports.service import ExportFormat
from studio.runs.query import RunQuery
from studio.runs.rows import CheckpointRow, ExportRow, RunRow
from ui.services import Services

FORMATS: tuple[ExportFormat, ...] = ("peft", "merged")
_LISTED = 200


@dataclass(frozen=True)
class RunFacts:
    """A run with all its checkpoints (removed ones too) and exports. `best`: the lowest evaluation loss that stands."""

    run: RunRow
    checkpoints: tuple[CheckpointRow, ...]
    exports: tuple[ExportRow, ...]
    formats: tuple[ExportFormat, ...]

    @property
    def standing(self) -> tuple[CheckpointRow, ...]:
        """Those whose files are there, by step."""
        return tuple(row for row in self.checkpoints if not row.deleted)

    @property
    def best(self) -> CheckpointRow | None:
        """As the engine chooses: lowest evaluation loss, or the last where none was evaluated."""
        judged = [row for row in self.standing if row.evaluation_loss is not None]
        if not judged:
            return self.standing[-1] if self.standing else None
        return min(judged, key=lambda row: (row.evaluation_loss, row.step))

    def at(self, step: int | None) -> CheckpointRow | None:
        """The checkpoint of a step."""
        return next((row for row in self.checkpoints if row.step == step), None)


@dataclass(frozen=True)
class Forecast:
    """Predicted bytes of each format, where each will go, and what is free there."""

    sizes: dict[ExportFormat, int | None]
    folders: dict[ExportFormat, Path]
    free: int

    def needed(self, kinds: Sequence[ExportFormat]) -> int:
        """Bytes that these formats take together, as far as they are known."""
        return sum(self.sizes.get(kind) or 0 for kind in kinds)


def exportable_runs(services: Services) -> list[RunRow]:
    """Runs that have a checkpoint and do not train, newest first."""
    rows = services.store.runs(RunQuery(), limit=_LISTED)
    return [row for row in rows if row.checkpoint_step is not None and not row.is_active]


def read_run(services: Services, run_id: str) -> RunFacts:
    """Everything of one run. Raises SurroundingsError where there is no such run."""
    run = services.store.run(run_id)
    formats = tuple(kind for kind in FORMATS if kind != "peft" or run.method == "lora")
    checkpoints = {row.step: row for row in services.store.checkpoints(run_id, standing=False)}
    return RunFacts(run, tuple(checkpoints.values()), tuple(services.exports.rows(run_id)), formats)


def forecast(services: Services, facts: RunFacts, step: int, parent: Path | None) -> Forecast:
    """Sizes and places for a checkpoint; `parent` is the folder that was chosen for exports, None for the usual one."""
    checkpoint = services.home.run(facts.run.id).checkpoint(step)
    model = _model_folder(services, facts.run.id)
    folders = {
        kind: services.exports.propose_folder(facts.run, kind, f"step-{step}", parent=parent) for kind in facts.formats
    }
    sizes = {kind: predicted_bytes(kind, checkpoint, model) if model else None for kind in facts.formats}
    return Forecast(sizes, folders, free_bytes(next(iter(folders.values()))))


def _model_folder(services: Services, run_id: str) -> Path | None:
    reference = services.runs.recipe(run_id).model
    with contextlib.suppress(SurroundingsError):  # a base that is gone is told by the export itself
        if reference is not None:
            return Path(services.hub().find(reference).path)
    return None
