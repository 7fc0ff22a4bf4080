"""What a recipe field is: the one place for defaults, ranges, units, labels and help.

Forms, command line help, validation, documentation and the names in the history are generated from these. A default may
depend on other fields (the learning rate of LoRA is not that of full fine-tuning); it is then a function of the recipe,
and the recipe itself holds None for "the default".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.protocol.errors import Problem

if TYPE_CHECKING:
    from engine.protocol.recipe import Recipe

Kind = Literal["text", "integer", "number", "switch", "choice", "choices", "texts", "model", "datasets"]
Level = Literal["basic", "advanced"]
Group = Literal[
    "run", "model", "data", "method", "batch", "schedule", "optimizer", "evaluation", "checkpoints", "engine"
]
Scalar = str | int | float | bool | None
Setting = Scalar | tuple[str, ...]


@dataclass(frozen=True)
class FieldSpec:
    """One recipe field.

    `default` gives the value that None stands for, from the recipe. `minimum` and `maximum` are inclusive unless
    `open_minimum`. `shown_when` hides a field whose value would not be used. `affects` says what a change touches
    (scenario S13): the numbers, the plan, or only the record.
    """

    key: str
    label: str
    help: str
    kind: Kind
    group: Group
    level: Level
    default: Callable[[Recipe], Setting]
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    open_minimum: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    shown_when: Callable[[Recipe], bool] = lambda recipe: True
    affects: Literal["numerics", "schedule", "record"] = "numerics"

    def choice_label(self, value: str) -> str:
        """The English label of one of `choices`; the value itself where it is none."""
        return dict(self.choices).get(value, value)

    def problem(self, value: Setting) -> Problem | None:
        """What is wrong with a value of the right Python type, None if nothing is."""
        if isinstance(value, tuple):
            return self._unknown_choices(value)
        if self.choices and isinstance(value, str) and value not in dict(self.choices):
            return self._unknown_choices((value,))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not math.isfinite(value):
            return self._problem("not_finite", f"{self.label} is not a finite number.", "Give a finite number.")
        too_low = self.minimum is not None and (value <= self.minimum if self.open_minimum else value < self.minimum)
        if too_low or (self.maximum is not None and value > self.maximum):
            return self._problem(
                "out_of_range", f"{self.label} is {value:g}, outside {self.range_text()}.", f"Give {self.range_text()}."
            )
        return None

    def range_text(self) -> str:
        """The allowed range in words: "at least 1", "more than 0 and at most 1"."""
        low = "" if self.minimum is None else f"{'more than' if self.open_minimum else 'at least'} {self.minimum:g}"
        high = "" if self.maximum is None else f"at most {self.maximum:g}"
        return " and ".join(part for part in (low, high) if part)

    def _unknown_choices(self, values: tuple[str, ...]) -> Problem | None:
        unknown = [value for value in values if self.choices and value not in dict(self.choices)]
        if not unknown:
            return None
        allowed = ", ".join(value for value, _ in self.choices)
        return self._problem("unknown_choice", f"{self.label} cannot be {unknown[0]!r}.", f"Choose one of: {allowed}.")

    def _problem(self, code: str, message: str, remedy: str) -> Problem:
        return Problem(
            code, message, remedy, where=self.key, arguments={"label": self.label, "range": self.range_text()}
        )
