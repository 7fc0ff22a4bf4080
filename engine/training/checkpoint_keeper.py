"""When a checkpoint is wanted: saves it, says so, and lets go of those that the keeping rule does not keep."""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.schedule import Schedule
from engine.protocol.codec import utc_now
from engine.protocol.errors import Problem, SurroundingsError
from engine.protocol.events import CheckpointDeleted, CheckpointFailed, CheckpointSaved
from engine.protocol.folder import RunFolder
from engine.training.checkpoint import (
    CheckpointManifest,
    checkpoint_hash,
    delete_checkpoint,
    read_manifest,
    save_checkpoint,
    steps_to_delete,
)
from engine.training.disk_errors import disk_error
from engine.training.event_writer import EventWriter
from engine.training.executor import Executor
from engine.training.parameters import trained_files
from engine.training.progress import Progress


@dataclass
class CheckpointKeeper:
    """`template` is the manifest of this run, but for its moment (state, time, files)."""

    folder: RunFolder
    executor: Executor
    schedule: Schedule
    progress: Progress
    events: EventWriter
    template: CheckpointManifest
    keep_last: int
    keep_best: int

    def save(self, reason: str) -> Problem | None:
        """Save this step. A failure (disk full) is told by `CheckpointFailed`, and returned."""
        state = self.progress.state()
        manifest = CheckpointManifest(
            run=self.template.run,
            attempt=self.events.attempt,
            time_utc=utc_now(),
            method=self.template.method,
            precision=self.template.precision,
            base_model=self.template.base_model,
            numerics=self.template.numerics,
            state=state,
        )
        files = trained_files(self.executor, self.schedule, self.template.method)
        path = self.folder.checkpoint(state.step)
        before = checkpoint_hash(path) if (state.step, path) in self.folder.checkpoints() else None
        try:
            saved = save_checkpoint(path, files, manifest)
        except SurroundingsError as error:
            self.events.write(CheckpointFailed(**self.events.stamp(), problem=error.problem()))
            return error.problem()
        if saved.sha256 != before:
            self.events.write(
                CheckpointSaved(
                    **self.events.stamp(),
                    path=saved.path.relative_to(self.folder.path).as_posix(),
                    sha256=saved.sha256,
                    size_bytes=saved.size_bytes,
                    seconds=saved.seconds,
                    evaluation_loss=state.evaluation_loss,
                    reason=reason,
                )
            )
        self.events.sync()
        self._let_go()
        return None

    def _let_go(self) -> None:
        folders = dict(self.folder.checkpoints())
        losses = {step: read_manifest(path).state.evaluation_loss for step, path in folders.items()}
        for step in steps_to_delete(losses, keep_last=self.keep_last, keep_best=self.keep_best):
            try:
                delete_checkpoint(folders[step])
            except OSError as error:
                problem = disk_error(error, folders[step]).problem()
                self.events.write(CheckpointFailed(**self.events.stamp(), problem=problem))
                continue
            name = folders[step].relative_to(self.folder.path).as_posix()
            self.events.write(CheckpointDeleted(**self.events.stamp(), path=name, checkpoint_step=step))
