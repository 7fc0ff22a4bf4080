"""What a view is given: everything it may reach, and nothing it must look up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.widgets.toast import Message

if TYPE_CHECKING:
    from ui.run_watch import RunWatch
    from ui.services import Services


class Navigate(Protocol):
    """Go to a route; the arguments reach the view's `arrive`."""

    def __call__(self, route: str, **arguments: object) -> None: ...


@dataclass(frozen=True)
class Command:
    """One line of the command field: an action, a run, a setting."""

    label: str
    run: Callable[[], None]
    detail: str = ""
    keys: str = ""
    icon: str = "arrow-right"


@dataclass(frozen=True)
class Context:
    """`services` are studio's objects; `tasks` runs their slow parts off the GUI thread; `watch` tells of runs."""

    appearance: Appearance
    tasks: Tasks
    services: Services
    watch: RunWatch
    navigate: Navigate
    toast: Callable[[Message], object]
