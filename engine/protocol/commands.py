"""What a person asks of a running engine, in the imperative. One command is one file in `commands/`.

Files are named `<utc time>-<id>.json`, so that sorting by name is the order of asking; they are written under a
temporary name and renamed. The engine answers each exactly once, by event, and leaves the file where it is.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.files import write_atomically


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="command"):
    """`attempt` names the attempt that the command is for: another one answers `CommandIgnored`."""

    id: str
    attempt: int
    version: int = VERSION


class PauseRun(Command, frozen=True, kw_only=True, tag=True):
    """Finish the step and wait."""


class UnpauseRun(Command, frozen=True, kw_only=True, tag=True):
    """Go on after a pause within the same attempt."""


class SaveCheckpoint(Command, frozen=True, kw_only=True, tag=True):
    """Save one after the current step."""


class StopRun(Command, frozen=True, kw_only=True, tag=True):
    """Finish the step, save a checkpoint (unless `save` is off), end."""

    save: bool = True


KnownCommand = PauseRun | UnpauseRun | SaveCheckpoint | StopRun

_decoder = msgspec.json.Decoder(KnownCommand)


def new_id() -> str:
    """A fresh command id."""
    return secrets.token_hex(4)


def send(folder: Path, command: KnownCommand) -> Path:
    """Put the command into `folder` (the run's `commands/`). Returns its path. Raises OSError."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    path = folder / f"{stamp}-{command.id}.json"
    write_atomically(path, msgspec.json.encode(command))
    return path


def decode_command(raw: bytes) -> KnownCommand:
    """Raises msgspec.ValidationError for a command that this release does not know."""
    return _decoder.decode(raw)
