"""A run's state, phases and events in words: what Live, Runs and Compare all say alike."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from studio.runs.rows import EventRow, RunRow
from ui.format import disk, duration, learning_rate, loss, number
from ui.tr import tr
from ui.widgets.badge import State

_STATES: dict[str, tuple[str, State, str | None]] = {
    "launching": ("Launching", "accent", ""),
    "preparing": ("Preparing", "accent", ""),
    "training": ("Training", "accent", "play-filled"),
    "paused": ("Paused", "neutral", "pause"),
    "stopped": ("Stopped", "neutral", "stop"),
    "finished": ("Finished", "good", None),
    "failed": ("Failed", "bad", None),
    "lost": ("Lost", "bad", None),
    "unreadable": ("Unreadable", "warn", None),
}
_PHASES = {
    "reading_data": "Reading data",
    "tokenising": "Tokenising",
    "packing": "Packing rows",
    "compiling": "Compiling programs",
    "reading_model": "Reading model",
    "reading_checkpoint": "Reading checkpoint",
    "warming_up": "Warm-up",
}
STATUSES = tuple(_STATES)


@dataclass(frozen=True)
class StateWords:
    """A state as a badge: its word, its colour and its icon (None: the colour's own shape)."""

    text: str
    state: State
    icon: str | None


def state_words(status: str) -> StateWords:
    """The badge of a status."""
    word, state, icon = _STATES[status]
    return StateWords(tr(word), state, icon)


def table_state(row: RunRow) -> str:
    """The state with where the run stands, for tables: "Failed at step 88", "Paused at 41 %"."""
    word = state_words(row.status).text
    if row.status in ("failed", "lost", "stopped") and row.step:
        return tr("{state} at step {step}", state=word, step=number(row.step))
    if row.status in ("paused", "training") and row.total_steps:
        return tr("{state}, {share} %", state=word, share=number(100 * row.step / row.total_steps))
    return word


def phase_words(phase: str) -> str:
    """A phase before the first step; one of a newer engine by its own name."""
    return tr(_PHASES.get(phase, phase.replace("_", " ").capitalize()))


def phase_count(done: int | None, total: int | None, unit: str) -> str:
    """How far a phase is: "113 of 538 MB", "9 of 12 programs"; "" where it does not count."""
    if done is None or not total:
        return ""
    if unit == "bytes":
        return tr("{done} of {total}", done=disk(done), total=disk(total))
    return tr("{done} of {total} {unit}", done=number(done), total=number(total), unit=tr(unit))


def method_words(row: RunRow) -> str:
    """The method as it is written in tables: "LoRA 16", "Full"."""
    if row.method != "lora":
        return tr("Full") if row.method == "full" else row.method
    rank = msgspec.json.decode(row.recipe, type=dict[str, object]).get("lora_rank")
    return tr("LoRA {rank}", rank=number(rank)) if isinstance(rank, int) else tr("LoRA")


@dataclass(frozen=True)
class EventWords:
    """One event for a list: `mark` is the lane's shape (checkpoint, evaluation, alert, non_finite, command, state)."""

    step: int
    mark: str
    title: str
    detail: str
    state: State = "neutral"


def event_words(row: EventRow) -> EventWords | None:
    """What a person may want to know of an event; None for what other places show already."""
    content = msgspec.json.decode(row.content, type=dict[str, object])
    told = _told(row.kind, content)
    return None if told is None else EventWords(row.step, *told)


def _told(kind: str, content: dict[str, object]) -> tuple[str, str, str, State] | None:
    match kind:
        case "CheckpointSaved":
            size, seconds = _figure(content, "size_bytes"), _figure(content, "seconds")
            return "checkpoint", tr("Checkpoint saved"), f"{disk(size)} · {duration(seconds)}", "good"
        case "CheckpointFailed":
            return "alert", tr("Checkpoint failed"), _problem(content), "bad"
        case "EvaluationCompleted":
            return "evaluation", tr("Evaluation"), tr("loss {loss}", loss=_loss(content, "evaluation_loss")), "neutral"
        case "NonFiniteSeen":
            action = {"skipped": tr("update not applied"), "stopped": tr("the run was stopped")}
            what = tr("{quantity} not finite", quantity=tr(str(content.get("quantity", ""))).capitalize())
            return "non_finite", what, action.get(str(content.get("action")), str(content.get("action"))), "bad"
        case "WarningRaised":
            return "alert", tr("Warning"), _problem(content), "warn"
        case "RunStarted" if (resumed := content.get("resumed_from_step")) is not None:
            attempt = tr("attempt {number}", number=number(_figure(content, "attempt")))
            return "state", tr("Resumed from step {step}", step=number(float(str(resumed)))), attempt, "neutral"
        case "CommandRejected":
            return "alert", tr("Refused: {command}", command=command_words(content)), _problem(content), "warn"
        case "CommandAccepted":
            return "command", command_words(content), tr("asked by you, accepted"), "neutral"
        case "RunPaused" | "RunUnpaused":
            return "state", tr("Paused") if kind == "RunPaused" else tr("Resumed"), "", "neutral"
        case "RunStopped" | "RunFinished" | "RunFailed":
            ends: dict[str, tuple[str, State]] = {
                "RunStopped": (tr("Stopped"), "neutral"),
                "RunFinished": (tr("Finished"), "good"),
                "RunFailed": (tr("Failed"), "bad"),
            }
            return "state", ends[kind][0], _problem(content), ends[kind][1]
        case _:
            return None


def command_words(content: dict[str, object] | str) -> str:
    """A command by its own name, in words."""
    name = content if isinstance(content, str) else str(content.get("command", ""))
    words = {
        "PauseRun": tr("Pause"),
        "UnpauseRun": tr("Resume"),
        "StopRun": tr("Stop"),
        "SaveCheckpoint": tr("Checkpoint now"),
    }
    return words.get(name, name)


def log_words(content: dict[str, object]) -> str:
    """One event as a line of the log: its figures in the order of writing."""
    if content.get("event") == "StepCompleted":
        parts = [
            tr("step {step}", step=number(_figure(content, "step"))),
            tr("loss {loss}", loss=_loss(content, "loss")),
            tr("lr {rate}", rate=learning_rate(_figure(content, "learning_rate"))),
            tr("grad norm {norm}", norm=_loss(content, "grad_norm")),
            tr("{count} tokens/s", count=number(_figure(content, "tokens_per_second"))),
            duration(_figure(content, "step_seconds")),
        ]
        return "  ".join(parts)
    kind = str(content.get("event", ""))
    if kind.startswith("Phase"):
        count = phase_count(_whole(content, "done"), _whole(content, "total"), str(content.get("unit", "")))
        ended = duration(_figure(content, "seconds")) if kind == "PhaseCompleted" else ""
        return "  ".join(part for part in (phase_words(str(content.get("phase"))), count, ended) if part)
    told = _told(kind, content)
    if told is None:
        return tr(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).capitalize())
    return "  ".join(part for part in (tr("step {step}", step=number(_figure(content, "step"))), *told[1:3]) if part)


def _figure(content: dict[str, object], key: str) -> float:
    value = content.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


def _whole(content: dict[str, object], key: str) -> int | None:
    value = content.get(key)
    return value if isinstance(value, int) else None


def _loss(content: dict[str, object], key: str) -> str:
    value = content.get(key)
    return loss(value) if isinstance(value, int | float) else tr("not a number")


def _problem(content: dict[str, object]) -> str:
    problem = content.get("problem")
    return tr(str(problem["message"])) if isinstance(problem, dict) and "message" in problem else ""
