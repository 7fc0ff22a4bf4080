"""What can go wrong, told so that a person can act on it.

Two families, after whom they blame:

    EngineError
    ├── SurroundingsError   the user's surroundings failed: disk, driver, token, file, memory, recipe
    └── Bug                 we are wrong: shown with a full report

Every error has a stable `code` (which the window words in the user's language from `arguments`), a sentence in plain
English that says what happened, and a `remedy` that says what to do about it.
"""

from __future__ import annotations

import msgspec

Argument = str | int | float | bool | None


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong or worth knowing, as data.

    `where` names the place: a recipe key (`learning_rate`), a file and line (`rows.jsonl:12`), or a graph node.
    `severity` is "error" (launch is refused) or "warning" (launch goes on).
    """

    code: str
    message: str
    remedy: str = ""
    where: str = ""
    severity: str = "error"
    arguments: dict[str, Argument] = {}


class EngineError(Exception):
    """Base of everything that we raise on purpose."""

    def __init__(self, code: str, message: str, remedy: str = "", *, where: str = "", **arguments: Argument) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.where = where
        self.arguments = arguments

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message} {self.remedy}".rstrip()

    def problem(self) -> Problem:
        """The same as data, for events, forms and JSON output."""
        return Problem(self.code, self.message, self.remedy, self.where, "error", dict(self.arguments))


class SurroundingsError(EngineError):
    """The machine, the disk, the network, a file or the recipe is at fault: the remedy lies with the user."""


class Bug(EngineError):
    """Our own mistake: the report goes to us."""


class ProblemsError(SurroundingsError):
    """Several problems at once, so that a form can show each beside its field."""

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(first.code, first.message + more, first.remedy, where=first.where)
        self.problems = problems
