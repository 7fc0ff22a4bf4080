"""From a run folder's recipe and plan to a trainer that is ready for its next step.

tokenise ► schedule (as planned) ► arena at the planned offsets ► weights ► (checkpoint) ► warm up ► Trainer
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from engine.data.identity import Progress as DataProgress
from engine.data.preparing import PreparedData, open_dataset
from engine.graph.persistent import STEP, STEP_COUNT
from engine.graph.schedule import Schedule
from engine.models.decoder import EMBEDDING
from engine.models.registry import build_model
from engine.models.weights import HEAD_WEIGHT, weight_map
from engine.planner.make import schedule_of
from engine.protocol.errors import SurroundingsError
from engine.protocol.folder import RunFolder
from engine.runtime.executor import ReferenceExecutor
from engine.training.assemble import assemble
from engine.training.attempt import Attempt
from engine.training.checkpoint import CheckpointManifest, read_manifest, sweep, verify_checkpoint
from engine.training.executor import Executor
from engine.training.loop import Trainer
from engine.training.memory import require_memory
from engine.training.micro_batches import MicroBatches
from engine.training.model_folder import check_tied_head, model_folder, open_weights, read_config
from engine.training.numerics import check_data, check_model, check_resume, numerics_record
from engine.training.parameters import initialise_adapters, load_base, load_moments, load_trained, zero_moments
from engine.training.phases import Progress as PhaseProgress
from engine.training.progress import Progress


def prepare(attempt: Attempt) -> Trainer:
    """Do all that comes before the first step. Raises StopRequested, EngineError, OSError, MemoryError."""
    base = model_folder(attempt.recipe.model)
    check_model(attempt.plan.numerics, base)
    sweep(attempt.folder.checkpoint_root)
    manifest = _manifest_to_resume(attempt)
    data = _read_data(attempt, base)
    check_data(attempt.plan.numerics, data.statistics)
    schedule, executor = _bind(attempt, base)
    _load(attempt, base, schedule, executor)
    progress = Progress() if manifest is None else Progress.of(manifest.state)
    executor.write(STEP_COUNT, np.array([progress.updates], np.int64))
    trainer = assemble(attempt, base, data, schedule, executor, progress)
    _warm_up(attempt, executor, trainer.steps.batches)
    return trainer


def _manifest_to_resume(attempt: Attempt) -> CheckpointManifest | None:
    if attempt.resume_from is None:
        return None
    folder = attempt.folder.checkpoint(attempt.resume_from)
    manifest = read_manifest(folder)
    check_resume(manifest.numerics, numerics_record(attempt.plan.numerics, attempt.recipe))
    verify_checkpoint(folder, manifest)
    return manifest


def tokens_cache(folder: RunFolder) -> Path:
    """The home's token cache; a run that lies outside a home keeps its own."""
    runs = folder.path.resolve().parent
    home = runs.parent if runs.name == "runs" else folder.path.resolve()
    return home / "cache" / "tokens"


class _DataPhases(contextlib.ExitStack):
    """`open_dataset` names its own phases; each becomes one of ours when it begins."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__()
        self._attempt = attempt
        self._name = ""
        self._progress: PhaseProgress | None = None

    def report(self, name: str, done: int, total: int, unit: str) -> None:
        if name != self._name or self._progress is None:
            self.__exit__(None, None, None)
            self._name = name
            self._progress = self.enter_context(self._attempt.phase(f"{name}_data" if name == "reading" else name))
        self._progress(done, total, unit)


def _read_data(attempt: Attempt, base: Path) -> PreparedData:
    with _DataPhases(attempt) as phases:
        report: DataProgress = phases.report
        return open_dataset(attempt.recipe, base, tokens_cache(attempt.folder), report)


def _bind(attempt: Attempt, base: Path) -> tuple[Schedule, ReferenceExecutor]:
    plan = attempt.plan
    with attempt.phase("compiling") as progress:
        schedule = schedule_of(plan, attempt.recipe, read_config(base))
        progress(1, 2, "programs")
        require_memory(plan.placement.arena_bytes)
        executor = ReferenceExecutor(
            schedule, plan.placement.offsets, plan.placement.arena_bytes, plan.numerics.threads
        )
        progress(2, 2, "programs")
    return schedule, executor


def _load(attempt: Attempt, base: Path, schedule: Schedule, executor: Executor) -> None:
    with attempt.phase("reading_model") as progress:
        load_model(base, schedule, executor, progress)
        if attempt.resume_from is None:
            initialise_adapters(executor, schedule, attempt.recipe.seed)
            zero_moments(executor, schedule)
            return
    with attempt.phase("reading_checkpoint"):
        folder = attempt.folder.checkpoint(attempt.resume_from)
        load_trained(executor, schedule, folder, attempt.recipe.method)
        load_moments(executor, schedule, folder)


def load_model(base: Path, schedule: Schedule, executor: Executor, progress: PhaseProgress) -> None:
    """Check the model's files against its configuration and stream them in. Raises SurroundingsError."""
    files = open_weights(base)
    found = {name: file.entries[name].shape for name, file in files.items()}
    parameters = weight_map(build_model(read_config(base)))
    parameters.check(found)
    if parameters.tied:
        check_tied_head(files, HEAD_WEIGHT, EMBEDDING)
    load_base(executor, schedule, files, lambda done, total: progress(done, total, "bytes"))


def _warm_up(attempt: Attempt, executor: Executor, batches: MicroBatches) -> None:
    """Run the first micro-batch once: threads start, pages are touched. The next micro-batch 0 overwrites its sums."""
    if batches.total == 0:
        raise SurroundingsError("no_rows", "The data gives no micro-batch.", "Choose more data or shorter rows.")
    with attempt.phase("warming_up"):
        batches.upload(executor, 0)
        executor.write(STEP, np.array([attempt.recipe.seed, 0, 0, 0], np.int64))
        executor.run("train_micro")
