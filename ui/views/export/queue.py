"""Exports that were asked for, one after another: each is started, watched and judged off the GUI thread."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal

from studio.errors import Problem
from studio.exports.running import ExportProgress, RunningExport
from studio.exports.service import ExportFormat
from studio.runs.rows import RunRow
from ui.bridge import Control
from ui.context import Context

JobState = Literal["waiting", "running", "cancelling", "done", "failed", "cancelled"]


@dataclass
class Job:
    """One export. `error` is a problem or an exception; a red self-test is neither, it stands in the history."""

    run: RunRow
    step: int
    kind: ExportFormat
    target: Path
    state: JobState = "waiting"
    progress: ExportProgress = field(default_factory=lambda: ExportProgress(""))
    error: object = None
    export: RunningExport | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it still has something to do."""
        return self.state in ("waiting", "running", "cancelling")


class ExportQueue(QObject):
    """`changed` when a job moved; `ended` carries the job that ended."""

    changed = Signal()
    ended = Signal(object)

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None

    @property
    def jobs(self) -> list[Job]:
        """What is under way and what waits for it."""
        return ([self._current] if self._current else []) + list(self._waiting)

    def add(self, job: Job) -> None:
        """Do it when those before it are done."""
        self._waiting.append(job)
        self._next()
        self.changed.emit()

    def cancel(self, job: Job) -> None:
        """Forget one that waits; end one that runs and remove its partial files."""
        if job.state == "waiting":
            self._waiting.remove(job)
            job.state = "cancelled"
        elif job.state == "running" and job.export is not None:
            job.state = "cancelling"
            export = job.export
            self._context.tasks.run(lambda control: export.cancel(), owner=self)
        self.changed.emit()

    def _next(self) -> None:
        if self._current is not None or not self._waiting:
            return
        job = self._current = self._waiting.popleft()
        job.state = "running"
        self._context.tasks.run(
            lambda control: self._work(control, job), owner=self, touches=("exports",),
            on_result=lambda problem: self._over(job, problem), on_error=lambda error: self._over(job, error),
            on_progress=lambda progress: self._moved(job, progress),
        )  # fmt: skip

    def _work(self, control: Control, job: Job) -> Problem | None:
        """On a worker thread. When the window closes the watching ends and the export goes on."""
        services = self._context.services
        handle = services.exports.start(job.run, job.kind, checkpoint=str(job.step), out=job.target)
        job.export = RunningExport(handle, job.target)
        try:
            return job.export.follow(control.progress, lambda: control.cancelled)
        finally:
            job.export.close()
            services.runs.refresh()

    def _moved(self, job: Job, progress: object) -> None:
        if isinstance(progress, ExportProgress):
            job.progress = progress
            self.changed.emit()

    def _over(self, job: Job, problem: object) -> None:
        was_cancelled = job.state == "cancelling"
        job.state = "cancelled" if was_cancelled else "failed" if problem is not None else "done"
        job.error = None if was_cancelled else problem
        job.export = None
        self._current = None
        self._next()
        self.changed.emit()
        self.ended.emit(job)
