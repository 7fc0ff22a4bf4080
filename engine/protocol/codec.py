"""One struct, one JSON line. Readers keep what they do not know; writers say which version they speak."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

VERSION = 1
"""Version of recipe, plan, events, commands, heartbeat and checkpoint manifests written by this release."""


class Versioned(msgspec.Struct):
    """Just enough of a file to see who wrote it."""

    version: int = 0


def to_line(struct: msgspec.Struct) -> bytes:
    """The struct as one JSON line, newline included. Floats that are not finite become null (msgspec's rule)."""
    return msgspec.json.encode(struct) + b"\n"


def is_newer(raw: bytes) -> bool:
    """Whether a JSON file was written by a release newer than this one (it is then shown read-only)."""
    return msgspec.json.decode(raw, type=Versioned).version > VERSION


def utc_now() -> str:
    """Now, in UTC, as ISO 8601 with milliseconds: the form of every stored time."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
