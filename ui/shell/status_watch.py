"""Keeps the bars up to date: which run trains, what the machine has left. Reads off the GUI thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from ui.bridge import Control, Latest, Tasks
from ui.format import memory
from ui.services import Services
from ui.shell.status_bar import Reading
from ui.tr import plural, tr

if TYPE_CHECKING:
    from studio.machine import MachineSpec
    from studio.runs.rows import RunRow

MACHINE_MILLISECONDS = 3000


@dataclass(frozen=True)
class Running:
    """The runs that an engine works on (id → name) and what the status bar says of them."""

    names: Mapping[str, str]
    text: str


def machine_words(machine: MachineSpec) -> str:
    """The machine in a few words: "RTX 6000 Ada · 48 GiB", "No GPU · CPU"."""
    if not machine.devices:
        return tr("No GPU · CPU")
    first = machine.devices[0]
    return f"{first.name.removeprefix('NVIDIA ')} · {memory(first.capacity_bytes, 0)}"


def reading_of(machine: MachineSpec) -> Reading:
    """What the status bar shows of a machine."""
    first = machine.devices[0] if machine.devices else None
    return Reading(
        memory_used=machine.other_bytes,
        memory_total=machine.memory_bytes,
        gpu_used=first.other_bytes if first else None,
        gpu_total=first.capacity_bytes if first else None,
        disk_free=machine.disk_free_bytes,
    )


def running_words(rows: list[RunRow]) -> Running:
    """The newest active run names the state; more than one are counted."""
    names = {row.id: row.name for row in rows}
    if not rows:
        return Running(names, "")
    words = {
        "launching": tr("Launching"),
        "preparing": tr("Preparing"),
        "training": tr("Training"),
        "paused": tr("Paused"),
    }
    first = f"{words.get(rows[0].status, tr('Training'))} · {rows[0].name}"
    more = len(rows) - 1
    return Running(names, first if not more else f"{first}, {plural(more, '{count} more', '{count} more')}")


class StatusWatch(QObject):
    """`machine` carries a MachineSpec, `running` a Running."""

    machine = Signal(object)
    running = Signal(object)

    def __init__(self, tasks: Tasks, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks, self._services = tasks, services
        self._runs = Latest(tasks, self)
        self.active: Mapping[str, str] = {}

    def start(self) -> None:
        """Begin; once the window has been painted."""
        self._tasks.every(MACHINE_MILLISECONDS, self._machine, self.machine.emit, self)
        self.read_runs()

    def read_runs(self) -> None:
        """Look which runs are active: at the start, and when the run watch has news."""
        self._runs.request(self._active, self._told)

    def _machine(self, control: Control) -> MachineSpec:
        return self._services.machine()

    def _active(self, control: Control) -> Running:
        from studio.runs.query import RunQuery
        from studio.runs.rows import ACTIVE

        return running_words(self._services.store.runs(RunQuery(statuses=tuple(ACTIVE)), limit=20))

    def _told(self, running: Running) -> None:
        self.active = running.names
        self.running.emit(running)
