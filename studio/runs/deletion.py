"""Deleting runs, after a look at what would go."""

from __future__ import annotations

import shutil

import msgspec

from engine.protocol.errors import Problem
from engine.protocol.files import disk, sync_folder
from engine.protocol.folder import RunFolder
from studio.runs.liveness import is_elsewhere


class Deletion(msgspec.Struct, frozen=True):
    """One run in the review: what it takes on disk, and why it may not be deleted (None: it may)."""

    run: str
    size_bytes: int
    checkpoints: int
    forbidden: Problem | None = None


def review(folder: RunFolder, is_alive: bool) -> Deletion:
    """Count what is there; nothing is deleted."""
    forbidden = None
    if is_elsewhere(folder):
        forbidden = Problem("run.elsewhere", f"{folder.id} belongs to another machine.", "Delete it there.")
    elif is_alive:
        forbidden = Problem("run.alive", f"An engine is at work on {folder.id}.", "Stop it first.")
    size = sum(path.lstat().st_size for path in folder.path.rglob("*") if path.is_file() or path.is_symlink())
    return Deletion(folder.id, size, len(folder.checkpoints()), forbidden)


def remove(folder: RunFolder) -> None:
    """Take the folder out of sight at once, then delete what is in it: a kill half way leaves no half run."""
    if not folder.path.exists():
        return
    doomed = folder.path.with_name(f".deleting-{folder.id}")
    disk().replace(folder.path, doomed)
    sync_folder(folder.path.parent)
    shutil.rmtree(doomed, ignore_errors=True)
