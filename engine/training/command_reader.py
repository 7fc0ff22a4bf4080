"""Reads what a person asked (`commands/*.json`) and answers each command exactly once, over all attempts.

The answer is an event, and the events are the memory: a restarted engine does not answer again what its predecessor
answered. A command for another attempt is ignored, by name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.protocol.commands import KnownCommand, decode_command
from engine.protocol.errors import Problem
from engine.protocol.events import CommandAccepted, CommandIgnored, CommandRejected
from engine.training.event_writer import EventWriter

Handler = Callable[[KnownCommand], Problem | None]
"""Carries out a command, or says why it cannot."""


class CommandReader:
    """Polls the folder; `handler` carries each command out, or returns the problem that prevents it."""

    def __init__(self, folder: Path, events: EventWriter, answered: set[str], handler: Handler) -> None:
        self._folder = folder
        self._events = events
        self._answered = answered
        self._handler = handler
        self._seen: set[str] = set()

    def poll(self) -> None:
        """Answer every new command in the order of asking. A missing folder holds none."""
        if not self._folder.is_dir():
            return
        names = {path.name for path in self._folder.glob("*.json") if not path.name.startswith(".")}
        for name in sorted(names - self._seen):
            self._seen.add(name)
            self._answer(self._folder / name)

    def _answer(self, path: Path) -> None:
        try:
            command = decode_command(path.read_bytes())
        except FileNotFoundError:
            return
        except msgspec.DecodeError as error:
            self._reject_unreadable(path, str(error))
            return
        if command.id in self._answered:
            return
        self._answered.add(command.id)
        name = type(command).__name__
        if command.attempt != self._events.attempt:
            reason = f"It was for attempt {command.attempt}; this is attempt {self._events.attempt}."
            event = CommandIgnored(**self._events.stamp(), command_id=command.id, command=name, reason=reason)
            self._events.write(event)
            return
        problem = self._handler(command)
        if problem is None:
            self._events.write(CommandAccepted(**self._events.stamp(), command_id=command.id, command=name))
        else:
            self._events.write(
                CommandRejected(**self._events.stamp(), command_id=command.id, command=name, problem=problem)
            )

    def _reject_unreadable(self, path: Path, why: str) -> None:
        identity = path.stem.rpartition("-")[2]
        if identity in self._answered:
            return
        self._answered.add(identity)
        problem = Problem("command_unreadable", f"The command cannot be read: {why}.", "Ask again.", where=path.name)
        self._events.write(
            CommandRejected(**self._events.stamp(), command_id=identity, command="unknown", problem=problem)
        )
