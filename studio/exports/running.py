"""One export under way, in plain words for whoever watches: how far it is, what came of it, and how to end it."""

from __future__ import annotations

import glob
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.protocol.errors import Problem
from engine.protocol.events import ExportVerified, PhaseProgressed, PhaseStarted
from studio.engine_job import AnyEvent, EngineJob
from studio.runs.rows import ExportRow

POLL_SECONDS = 0.1


class ExportProgress(msgspec.Struct, frozen=True):
    """`phase`: reading_model, answering, writing, testing. `total` is 0 where nothing is counted."""

    phase: str
    done: int = 0
    total: int = 0
    unit: str = ""


class SelfTest(msgspec.Struct, frozen=True, kw_only=True):
    """The export was loaded afresh and compared. `reasons` begin with the part that failed ("logits: …")."""

    passed: bool
    largest_logit_difference: float | None = None
    logit_limit: float = 0.0
    prompts: int = 0
    equal_texts: int = 0
    reasons: tuple[str, ...] = ()


class _Failure(msgspec.Struct, frozen=True):
    problem: Problem


def self_test(row: ExportRow) -> SelfTest | None:
    """What the self-test of an export said; None where there was none."""
    try:
        return msgspec.json.decode(row.content, type=SelfTest)
    except msgspec.MsgspecError:
        return None


def failure(row: ExportRow) -> Problem | None:
    """Why an export was not written; None where it was."""
    try:
        return msgspec.json.decode(row.content, type=_Failure).problem
    except msgspec.MsgspecError:
        return None


class RunningExport:
    """Watch with `follow` from one thread; `cancel` from any."""

    def __init__(self, job: EngineJob, target: Path) -> None:
        self.job = job
        self.target = target

    def follow(self, tell: Callable[[ExportProgress], None], leaves: Callable[[], bool]) -> Problem | None:
        """Tell each progress until it has ended, and why it failed, if it did; a red self-test is no failure of this
        kind: the history tells it. Where `leaves` says so the watching ends and the export goes on."""
        verified = False
        while not leaves():
            running = self.job.is_running
            for event in self.job.poll():
                verified = verified or isinstance(event, ExportVerified)
                if (progress := _progress(event)) is not None:
                    tell(progress)
            if not running:
                return None if verified else self.job.problem
            time.sleep(POLL_SECONDS)
        return None

    def cancel(self) -> None:
        """End it and remove what it had begun to write. Blocking, a few seconds at most."""
        self.job.cancel()
        for part in self.target.parent.glob(f".{glob.escape(self.target.name)}.*.tmp"):
            shutil.rmtree(part, ignore_errors=True)

    def close(self) -> None:
        """Look no more."""
        self.job.close()


def _progress(event: AnyEvent) -> ExportProgress | None:
    match event:
        case PhaseStarted():
            return ExportProgress(event.phase)
        case PhaseProgressed():
            return ExportProgress(event.phase, event.done, event.total, event.unit)
        case _:
            return None
