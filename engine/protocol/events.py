"""What happened in a run, in the past tense. One event is one line of `events.jsonl`.

Every event carries where it stands: `sequence` (monotonic over all attempts of the run), `attempt`, `step` (optimizer
steps completed when it was written), `time_utc`, `elapsed_seconds` (monotonic clock, since the attempt began).
An event that this release does not know is read as `UnknownEvent` and kept.
"""

from __future__ import annotations

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.errors import Argument, Problem


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    sequence: int
    attempt: int
    step: int
    time_utc: str
    elapsed_seconds: float
    version: int = VERSION


class RunStarted(Event, frozen=True, kw_only=True, tag=True):
    """The attempt began. `recipe` is the resolved recipe, key by key, as the engine understood it."""

    recipe: dict[str, object]
    total_steps: int | None
    resumed_from_step: int | None
    engine_version: str
    device: str
    pid: int


class PhaseStarted(Event, frozen=True, kw_only=True, tag=True):
    """Work before the first step (or between steps): `reading_model`, `tokenising`, `compiling`, `warming_up`, …"""

    phase: str


class PhaseProgressed(Event, frozen=True, kw_only=True, tag=True):
    phase: str
    done: int
    total: int
    unit: str
    remaining_seconds: float | None = None


class PhaseCompleted(Event, frozen=True, kw_only=True, tag=True):
    phase: str
    seconds: float


class TrainingStarted(Event, frozen=True, kw_only=True, tag=True):
    """Everything is ready; steps follow."""

    total_steps: int
    steps_per_epoch: float


class StepCompleted(Event, frozen=True, kw_only=True, tag=True):
    """One optimizer step. Loss is None where it was not finite (a `NonFiniteSeen` says which)."""

    loss: float | None
    learning_rate: float
    grad_norm: float | None
    tokens: int
    trained_tokens: int
    tokens_per_second: float
    step_seconds: float
    epoch: float
    applied: bool = True
    clipped: bool = False
    metrics: dict[str, float] = {}
    remaining_seconds: float | None = None


class EvaluationCompleted(Event, frozen=True, kw_only=True, tag=True):
    evaluation_loss: float | None
    accuracy: float | None
    trained_tokens: int
    seconds: float
    best: bool = False


class SampleGenerated(Event, frozen=True, kw_only=True, tag=True):
    """An answer during training. `index` counts the recipe's sample prompts."""

    index: int
    prompt: str
    text: str
    new_tokens: int
    seconds: float


class ResourcesMeasured(Event, frozen=True, kw_only=True, tag=True):
    """Telemetry beside the steps. `memory_bytes` by category, `planned_bytes` for the same categories."""

    memory_bytes: dict[str, int]
    planned_bytes: dict[str, int]
    resident_bytes: int
    cpu_percent: float
    device: dict[str, float] = {}


class CheckpointSaved(Event, frozen=True, kw_only=True, tag=True):
    path: str
    sha256: str
    size_bytes: int
    seconds: float
    evaluation_loss: float | None = None
    reason: str = "schedule"


class CheckpointDeleted(Event, frozen=True, kw_only=True, tag=True):
    """A checkpoint that the keeping rule let go."""

    path: str
    checkpoint_step: int


class CheckpointFailed(Event, frozen=True, kw_only=True, tag=True):
    """A checkpoint could not be written; the run goes on."""

    problem: Problem


class NonFiniteSeen(Event, frozen=True, kw_only=True, tag=True):
    """A loss or gradient was NaN or infinite; `action` is what was done (`skipped`, `stopped`)."""

    quantity: str
    action: str


class WarningRaised(Event, frozen=True, kw_only=True, tag=True):
    problem: Problem


class CommandAccepted(Event, frozen=True, kw_only=True, tag=True):
    command_id: str
    command: str


class CommandRejected(Event, frozen=True, kw_only=True, tag=True):
    command_id: str
    command: str
    problem: Problem


class CommandIgnored(Event, frozen=True, kw_only=True, tag=True):
    """The command was for another attempt."""

    command_id: str
    command: str
    reason: str


class RunPaused(Event, frozen=True, kw_only=True, tag=True):
    pass


class RunUnpaused(Event, frozen=True, kw_only=True, tag=True):
    pass


class RunStopped(Event, frozen=True, kw_only=True, tag=True):
    """Ended before the last step because somebody asked, or paused too long. Resume goes on from the checkpoint."""

    reason: str
    checkpoint_step: int | None


class RunFinished(Event, frozen=True, kw_only=True, tag=True):
    final_loss: float | None
    best_evaluation_loss: float | None
    best_step: int | None
    trained_tokens: int
    seconds: float


class RunFailed(Event, frozen=True, kw_only=True, tag=True):
    problem: Problem
    is_bug: bool
    checkpoint_step: int | None
    traceback: str = ""


class ExportStarted(Event, frozen=True, kw_only=True, tag=True):
    format: str
    path: str
    checkpoint_step: int


class ExportWritten(Event, frozen=True, kw_only=True, tag=True):
    format: str
    path: str
    checkpoint_step: int
    sha256: str
    size_bytes: int


class ExportVerified(Event, frozen=True, kw_only=True, tag=True):
    """The self-test's result: the export was loaded afresh and compared with the engine's own answers."""

    format: str
    path: str
    checkpoint_step: int
    passed: bool
    largest_logit_difference: float | None
    logit_limit: float
    prompts: int
    equal_texts: int
    reasons: list[str] = []


class TextGenerated(Event, frozen=True, kw_only=True, tag=True):
    """Streaming generation (`anneal generate`): the pieces, then `done`."""

    prompt_index: int
    text: str
    done: bool
    new_tokens: int = 0
    details: dict[str, Argument] = {}


class UnknownEvent(Event, frozen=True, kw_only=True, tag=True):
    """Written by a newer release: kept, shown by name, never dropped."""

    name: str
    content: dict[str, object] = {}


KnownEvent = (
    RunStarted
    | PhaseStarted
    | PhaseProgressed
    | PhaseCompleted
    | TrainingStarted
    | StepCompleted
    | EvaluationCompleted
    | SampleGenerated
    | ResourcesMeasured
    | CheckpointSaved
    | CheckpointDeleted
    | CheckpointFailed
    | NonFiniteSeen
    | WarningRaised
    | CommandAccepted
    | CommandRejected
    | CommandIgnored
    | RunPaused
    | RunUnpaused
    | RunStopped
    | RunFinished
    | RunFailed
    | ExportStarted
    | ExportWritten
    | ExportVerified
    | TextGenerated
)

_decoder = msgspec.json.Decoder(KnownEvent)


class _Envelope(msgspec.Struct):
    event: str
    sequence: int = 0
    attempt: int = 0
    step: int = 0
    time_utc: str = ""
    elapsed_seconds: float = 0.0
    version: int = 0


_LARGEST = 2**62
"""Of the numbers by which events are found again: readers keep them as 64 bits."""


def decode_event(line: bytes) -> KnownEvent | UnknownEvent:
    """One line of `events.jsonl`. Raises msgspec.DecodeError for text that is not a JSON object of an event at all."""
    try:
        event = _decode(line)
    except RecursionError:
        raise msgspec.DecodeError("It is nested too deeply.") from None
    if max(abs(event.sequence), abs(event.attempt), abs(event.step)) > _LARGEST:
        raise msgspec.DecodeError("It has numbers that no engine writes.")
    return event


def _decode(line: bytes) -> KnownEvent | UnknownEvent:
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        head = msgspec.json.decode(line, type=_Envelope)
        content = msgspec.json.decode(line, type=dict[str, object])
        return UnknownEvent(
            sequence=head.sequence,
            attempt=head.attempt,
            step=head.step,
            time_utc=head.time_utc,
            elapsed_seconds=head.elapsed_seconds,
            version=head.version,
            name=head.event,
            content=content,
        )
