"""Words for what studio and the engine return as codes and arguments.

Studio and the engine carry a plain English sentence beside each code; where this table has no wording of its own, that
sentence is used (through `tr`, so a translation can still catch it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ui.format import disk, memory, number
from ui.tr import tr


@runtime_checkable
class ProblemLike(Protocol):
    """What studio's `Problem` and `EngineError` have in common."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def remedy(self) -> str: ...
    @property
    def arguments(self) -> Mapping[str, object]: ...


@dataclass(frozen=True)
class Words:
    """A title that says what happened and a remedy that says what to do."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()


_TEXTS: dict[str, tuple[str, str]] = {
    "out_of_range": ("{label} is outside its range.", "Use {range}."),
    "not_finite": ("{label} is not a number that can be used.", "Type a finite number."),
    "unknown_choice": ("{label} does not have this choice.", "Pick one from the list."),
    "no_model": ("No model is chosen.", "Choose one on the Model page."),
    "no_dataset": ("No dataset is chosen.", "Choose a file or folder on the Data page."),
    "no_targets": ("No projection gets an adapter.", "Choose at least one target module."),
    "model_not_here": ("The model is not on this disk yet.", "Download it on the Model page."),
    "data_not_measured": (
        "The datasets have not been counted yet.",
        "Wait for the count, or count again on the Data page.",
    ),
    "nothing_to_learn": (
        "No token of the datasets would be trained on.",
        "Check format, columns and turns on the Data page.",
    ),
    "beyond_context": (
        "The model was made for {context} tokens; the sequence length is {length}.",
        "Set the sequence length to {context} or less.",
    ),
    "memory_does_not_fit": (
        "The plan needs {needed} of memory; {usable} are usable.",
        "Free {over}, or apply a proposal.",
    ),
    "no_disk_for_checkpoints": (
        "The checkpoints need {needed} of disk; {free} are free.",
        "Free some disk, or keep fewer checkpoints.",
    ),
    "plan.stale": ("The plan was made for other settings.", "Wait for the new plan, then launch."),
    "disk_full": ("The disk is full.", "Free some space in Settings, Storage, and try again."),
    "offline": ("The Hub cannot be reached.", "Models on this disk still work; check the network and try again."),
}

_SIZES: dict[str, Callable[[float], str]] = {"memory_does_not_fit": memory, "no_disk_for_checkpoints": disk}
"""Codes whose numbers are bytes, and how those are written. Every other whole number gets thousands commas."""

_REASONS: dict[str, str] = {
    "no_gpu_engine": "Trains on the CPU: this release has no GPU engine yet.",
    "tokens_per_step": "Each step learns from at most {tokens} tokens.",
    "head_chunk": "Logits are made {tokens} tokens at a time and never lie whole in memory.",
    "speed_assumed": "Times are assumed from {cores} CPU cores; measuring this machine makes them true.",
}
_SUBJECTS: dict[str, str] = {"device": "Device", "head_chunk_tokens": "Logits", "speed": "Speed"}


class ReasonLike(Protocol):
    """What the window needs of studio's `Reason`."""

    @property
    def subject(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def arguments(self) -> Mapping[str, object]: ...


def subject_words(reason: ReasonLike, labels: Mapping[str, str]) -> str:
    """What a reason is about; `labels` are those of the recipe's settings."""
    return tr(labels.get(reason.subject) or _SUBJECTS.get(reason.subject, reason.subject))


def reason_words(reason: ReasonLike) -> str:
    """A reason of a plan as a sentence."""
    return _filled(_REASONS.get(reason.code, reason.message), reason.code, reason.arguments, reason.message)


def words_for(problem: object) -> Words:
    """The sentence and the remedy for a problem, an EngineError, or an exception that we did not expect."""
    if isinstance(problem, ProblemLike):
        what, remedy = _TEXTS.get(problem.code, (problem.message, problem.remedy))
        return Words(
            _filled(what, problem.code, problem.arguments, problem.message),
            _filled(remedy, problem.code, problem.arguments, problem.remedy) if remedy else "",
        )
    return Words(
        tr("Something went wrong inside the app."),
        tr("Copy the report and send it to us. {kind}: {text}", kind=type(problem).__name__, text=str(problem)),
    )


def _filled(text: str, code: str, arguments: Mapping[str, object], plain: str) -> str:
    """`text` translated, with its arguments worded; `plain` where one is missing or the text has braces of its own."""
    worded = {name: _quantity(code, value) for name, value in arguments.items()}
    try:
        return tr(text, **worded)
    except (KeyError, IndexError, ValueError):
        return plain


def _quantity(code: str, value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if code in _SIZES:
        return _SIZES[code](value)
    return number(value) if isinstance(value, int) else value
