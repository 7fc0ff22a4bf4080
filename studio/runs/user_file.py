"""`user.json`: what a person typed about a run. The app alone writes it, by atomic replace; the history copies it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.errors import SurroundingsError
from engine.protocol.files import write_atomically
from engine.protocol.folder import RunFolder


class Parent(msgspec.Struct, frozen=True):
    """The checkpoint that a run branched from."""

    run: str
    step: int


class UserData(msgspec.Struct, frozen=True):
    """Name, tags (sorted, unique), notes, votes (prompt → "a", "tie", "b", "bad") and whether it is put away."""

    name: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""
    votes: dict[str, str] = {}
    archived: bool = False
    parent: Parent | None = None
    version: int = VERSION


def read_user(folder: RunFolder) -> UserData:
    """The defaults where there is no file. Raises SurroundingsError("user_file.unreadable")."""
    try:
        return msgspec.json.decode(folder.user.read_bytes(), type=UserData)
    except FileNotFoundError:
        return UserData()
    except msgspec.MsgspecError as error:
        raise SurroundingsError(
            "user_file.unreadable",
            f"{folder.user} cannot be read: {error}.",
            "Correct the file, or move it away: only the run's name, tags and notes are in it.",
            path=str(folder.user),
        ) from error


def write_user(folder: RunFolder, user: UserData) -> None:
    """Replace `user.json`; keys that a newer release put there and we do not know are kept. Raises OSError."""
    known: dict[str, object] = msgspec.to_builtins(user)
    write_atomically(folder.user, msgspec.json.format(msgspec.json.encode({**_raw(folder.user), **known})))


def change_user(folder: RunFolder, **values: object) -> UserData:
    """Read, change the named fields, write. Tags are cleaned. Raises SurroundingsError and msgspec.ValidationError."""
    changed = msgspec.convert({**msgspec.to_builtins(read_user(folder)), **values}, UserData)
    tidy = msgspec.structs.replace(changed, tags=clean_tags(changed.tags))
    write_user(folder, tidy)
    return tidy


def clean_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Stripped, without empty ones, unique, sorted."""
    return tuple(sorted({tag.strip() for tag in tags} - {""}))


def _raw(path: Path) -> dict[str, object]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}
