"""Asking something of a running engine: one file in `commands/`, answered once by an event.

The window shows "asked" from here until the answer stands in the events.
"""

from __future__ import annotations

import msgspec

from engine.protocol import commands as c
from engine.protocol import heartbeat, lock
from engine.protocol.errors import SurroundingsError
from engine.protocol.folder import RunFolder
from studio.runs.liveness import is_elsewhere
from studio.runs.rows import EventRow

ANSWERS = ("CommandAccepted", "CommandRejected", "CommandIgnored")


class Asked(msgspec.Struct, frozen=True):
    """A command that has no answer yet: its id, its name (`StopRun`, …) and the attempt that it is for."""

    id: str
    command: str
    attempt: int


def ask(folder: RunFolder, kind: type[c.KnownCommand], **fields: bool) -> str:
    """Write the command for the attempt that is at work. Returns its id.

    Raises SurroundingsError: "run.elsewhere" (another host's), "run.not_running" (no engine to ask).
    """
    refuse_elsewhere(folder)
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    if beat is None or not lock.is_held(folder.engine_lock):
        raise SurroundingsError("run.not_running", "No engine is at work on this run.", "Resume it first.")
    command = kind(id=c.new_id(), attempt=beat.attempt, **fields)
    c.send(folder.commands, command)
    return command.id


def refuse_elsewhere(folder: RunFolder) -> None:
    """Raise SurroundingsError("run.elsewhere") for a run that another host works on, or worked on last."""
    if is_elsewhere(folder):
        beat = heartbeat.read_heartbeat(folder.heartbeat)
        host = beat.host if beat else ""
        raise SurroundingsError(
            "run.elsewhere", f"This run belongs to {host}: here it can only be read.", f"Go to {host}.", host=host
        )


def open_commands(folder: RunFolder, answers: list[EventRow]) -> list[Asked]:
    """What has been asked and not answered, in the order of asking.

    Args:
        answers: the run's events of the kinds in `ANSWERS`.
    """
    answered = {msgspec.json.decode(row.content, type=_Answer).command_id for row in answers}
    found = []
    for path in sorted(folder.commands.glob("*.json")):
        try:
            command = c.decode_command(path.read_bytes())
        except (OSError, msgspec.DecodeError):
            continue
        if command.id not in answered:
            found.append(Asked(command.id, type(command).__name__, command.attempt))
    return found


class _Answer(msgspec.Struct):
    command_id: str
