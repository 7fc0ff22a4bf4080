"""What the disk did, in words that a person can act on."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from engine.protocol.errors import SurroundingsError


def disk_error(error: OSError, path: Path) -> SurroundingsError:
    """Name a failed write to `path`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SurroundingsError(
            "disk_full",
            f"The disk is full: {path} could not be written.",
            "Free some space, or move runs to another disk.",
            where=str(path),
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return SurroundingsError(
            "disk_not_writable",
            f"{path} may not be written: {error.strerror}.",
            "Give write permission, or choose another folder.",
            where=str(path),
        )
    return SurroundingsError(
        "disk_failed",
        f"Writing {path} failed: {error.strerror or error}.",
        "Check the disk and try again.",
        where=str(path),
    )


def require_space(folder: Path, needed_bytes: int) -> None:
    """Refuse before writing anything where `folder`'s disk has less than `needed_bytes` free ("disk_full")."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        raise SurroundingsError(
            "disk_full",
            f"{folder} needs {needed_bytes:,} bytes and the disk has {free_bytes:,} left.",
            "Free some space, or choose another disk.",
            where=str(folder),
            needed_bytes=needed_bytes,
            free_bytes=free_bytes,
        )
