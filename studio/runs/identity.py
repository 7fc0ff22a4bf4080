"""The id of a run: a UTC timestamp and four base32 characters. It names the folder; the run's name is free text."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PATTERN = re.compile(r"(\d{8}T\d{6})-[A-Z2-7]{4}")


def new_run_id(now: datetime | None = None) -> str:
    """For example `20261201T110203-K7QF`. Ids sort by the time of launch."""
    stamp = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%dT%H%M%S")
    return f"{stamp}-{''.join(secrets.choice(_ALPHABET) for _ in range(4))}"


def is_run_id(text: str) -> bool:
    """Whether a folder of this name can be a run."""
    try:
        created_utc(text)
    except ValueError:
        return False
    return True


def created_utc(run_id: str) -> str:
    """The moment that the id names, as ISO 8601 in UTC. Raises ValueError for anything else than an id."""
    match = _PATTERN.fullmatch(run_id)
    if match is None:
        raise ValueError(f"{run_id!r} is not a run id")
    return datetime.strptime(match[1], "%Y%m%dT%H%M%S").strftime("%Y-%m-%dT%H:%M:%SZ")
