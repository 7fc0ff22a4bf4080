"""`exit.json`: how an engine ended that could not say so itself.

Only the process that started it learns the code, so it writes it where every later reader finds it.
"""

from __future__ import annotations

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.files import write_atomically
from engine.protocol.folder import RunFolder


class Exit(msgspec.Struct, frozen=True):
    """`code` as the system gave it; negative: ended by that signal. `out_of_memory`: the kernel killed for memory in
    our control group while the engine ran."""

    attempt: int
    code: int
    out_of_memory: bool = False
    version: int = VERSION


def write_exit(folder: RunFolder, ended: Exit) -> None:
    """Raises OSError."""
    write_atomically(folder.path / "exit.json", msgspec.json.encode(ended))


def read_exit(folder: RunFolder, attempt: int) -> Exit | None:
    """How that attempt's engine ended, None where nobody knows it."""
    try:
        ended = msgspec.json.decode((folder.path / "exit.json").read_bytes(), type=Exit)
    except (OSError, msgspec.MsgspecError):
        return None
    return ended if ended.attempt == attempt else None
