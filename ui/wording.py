"""Words for what studio and the engine return as codes and arguments.

Studio and the engine carry a plain English sentence beside each code; where this table has no wording of its own, that
sentence is used (through `tr`, so a translation can still catch it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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
    "disk_full": ("The disk is full.", "Free some space in Settings, Storage, and try again."),
    "offline": ("The Hub cannot be reached.", "Models on this disk still work; check the network and try again."),
}


def words_for(problem: object) -> Words:
    """The sentence and the remedy for a problem, an EngineError, or an exception that we did not expect."""
    if isinstance(problem, ProblemLike):
        what, remedy = _TEXTS.get(problem.code, (problem.message, problem.remedy))
        try:
            return Words(tr(what, **dict(problem.arguments)), tr(remedy, **dict(problem.arguments)) if remedy else "")
        except (KeyError, IndexError, ValueError):  # an argument is missing, or the message holds braces of its own
            return Words(problem.message, problem.remedy)
    return Words(
        tr("Something went wrong inside the app."),
        tr("Copy the report and send it to us. {kind}: {text}", kind=type(problem).__name__, text=str(problem)),
    )
