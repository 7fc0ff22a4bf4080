"""What the history gives back: frozen rows, plain data, times in UTC."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.protocol.errors import Problem

Status = Literal["launching", "preparing", "training", "paused", "stopped", "finished", "failed", "lost", "unreadable"]
ACTIVE: frozenset[Status] = frozenset({"launching", "preparing", "training", "paused"})
"""States in which an engine should be alive. The last three states of `Status` and `stopped` have none."""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run as the history knows it. `recipe` is the resolved recipe in force, `plan` the plan without its
    offsets, both as JSON text.

    `loss` is the newest training loss (None where it was not finite), `seconds` the time spent over all attempts,
    `reason` why a run failed, stopped or was lost. `checkpoint_step` is the newest checkpoint that stands on disk.
    """

    id: str
    name: str = ""
    status: Status = "launching"
    created_utc: str = ""
    model: str = ""
    dataset: str = ""
    method: str = ""
    precision: str = ""
    recipe: str = "{}"
    recipe_hash: str = ""
    plan: str = "{}"
    parent_run: str | None = None
    parent_step: int | None = None
    archived: bool = False
    notes: str = ""
    votes: dict[str, str] = {}
    tags: tuple[str, ...] = ()
    host: str = ""
    device: str = ""
    attempt: int = 0
    started_utc: str | None = None
    ended_utc: str | None = None
    step: int = 0
    total_steps: int | None = None
    seconds: float = 0.0
    remaining_seconds: float | None = None
    phase: str = ""
    phase_done: int | None = None
    phase_total: int | None = None
    phase_unit: str = ""
    loss: float | None = None
    evaluation_loss: float | None = None
    best_evaluation_loss: float | None = None
    best_step: int | None = None
    trained_tokens: int = 0
    tokens_per_second: float | None = None
    last_sequence: int = 0
    checkpoint_step: int | None = None
    reason: Problem | None = None
    non_finite: int = 0
    bad_lines: int = 0

    @property
    def is_active(self) -> bool:
        """Whether an engine should be at work on it."""
        return self.status in ACTIVE


class MetricRow(msgspec.Struct, frozen=True):
    """One point. `elapsed_seconds` counts from the beginning of its attempt, `trained_tokens` over the whole run."""

    key: str
    step: int
    attempt: int
    value: float | None
    elapsed_seconds: float
    trained_tokens: int


class Series(msgspec.Struct, frozen=True):
    """A curve: parallel tuples. `seconds` goes on over attempts. A value that was not finite is None."""

    run: str
    key: str
    steps: tuple[int, ...] = ()
    values: tuple[float | None, ...] = ()
    seconds: tuple[float, ...] = ()
    tokens: tuple[int, ...] = ()


class MetricSummary(msgspec.Struct, frozen=True):
    """A curve in four numbers, over the points that count and were finite."""

    lowest: float
    highest: float
    mean: float
    newest: float


class EventRow(msgspec.Struct, frozen=True):
    """An event that is kept word for word: `kind` is its name, `content` the whole event as JSON."""

    run: str
    sequence: int
    kind: str
    attempt: int
    step: int
    time_utc: str
    content: str


class SampleRow(msgspec.Struct, frozen=True):
    run: str
    step: int
    attempt: int
    number: int
    prompt: str
    text: str
    new_tokens: int


class CheckpointRow(msgspec.Struct, frozen=True):
    """`deleted`: the keeping rule let it go; the row stays for the timeline."""

    run: str
    step: int
    attempt: int
    path: str
    sha256: str
    size_bytes: int
    evaluation_loss: float | None
    reason: str
    time_utc: str
    deleted: bool


ExportState = Literal["writing", "written", "passed", "failed", "interrupted"]
"""The last is never stored: `ExportService.rows` says so of an export whose process has gone before its end."""


class ExportRow(msgspec.Struct, frozen=True):
    """`content` is the newest event about it as JSON (the self-test's figures, once there are any)."""

    run: str
    path: str
    format: str
    checkpoint_step: int
    state: ExportState
    sha256: str
    size_bytes: int
    time_utc: str
    content: str
