"""What every screen is: a widget that is made once, arrived at and left, and that knows its place in words."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from ui.context import Command, Context
from ui.widgets.stepper import StepState


class View(QWidget):
    """A screen. Subclasses build themselves in `__init__(context)` and read nothing slow there."""

    crumbs_changed = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def arrive(self, **arguments: object) -> None:
        """The screen was navigated to; `arguments` are those of `context.navigate`."""

    def leave(self) -> None:
        """Another screen takes over: stop what only matters while this one is seen."""

    def crumbs(self) -> Sequence[str]:
        """Where we are, from the outside in: ("Runs", "Compare A, B, C")."""
        return ()

    def commands(self) -> Sequence[Command]:
        """What the command field offers for this screen."""
        return ()

    def shutdown(self) -> None:
        """The window closes: stop timers and release what is held."""


class WizardPage(View):
    """One step of New run. Emit `step_changed` whenever `step_state`, `ready` or the labels change."""

    step_changed = Signal()

    def step_state(self) -> tuple[StepState, str]:
        """The state shown while the step is not the current one, and the line below its name."""
        return "todo", ""

    def ready(self) -> bool:
        """Whether Next may be pressed."""
        return True

    def next_label(self) -> str:
        """The text of the Next button ("Next: data"); "" where the page brings its own last button."""
        return ""

    def footer(self) -> QWidget | None:
        """What stands between Back and Next; made once."""
        return None

    def header(self) -> Sequence[QWidget]:
        """Buttons at the right end of the stepper; those of the first page are shown on all."""
        return ()
