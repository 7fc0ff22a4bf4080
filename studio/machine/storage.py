"""Where things are kept and how much each takes. Reads folders only; nothing is deleted from here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal

import msgspec

from studio.home import Home
from studio.settings import Settings

PlaceKind = Literal["models", "runs", "exports", "tokens", "downloads"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """`count`: models, runs, exports, … that lie there."""

    kind: PlaceKind
    path: str
    size_bytes: int
    count: int


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """`free_bytes` and `disk_bytes` are those of the disk that the home lies on."""

    home: str
    places: tuple[Place, ...]
    free_bytes: int
    disk_bytes: int

    @property
    def used_bytes(self) -> int:
        """What all places take together."""
        return sum(place.size_bytes for place in self.places)


def measure_storage(home: Home, settings: Settings, hub_cache: Path) -> Storage:
    """Walk every place. Seconds where there are many files: for worker threads. Raises OSError without a disk."""
    exports = Path(settings.export_folder).expanduser() if settings.export_folder else home.exports
    wanted: tuple[tuple[PlaceKind, Path, str], ...] = (
        ("models", hub_cache, "models--*"),
        ("runs", home.runs, "[!.]*"),
        ("exports", exports, "[!.]*"),
        ("tokens", home.tokens_cache, "[!.]*"),
        ("downloads", home.downloads, "[!.]*"),
    )
    usage = shutil.disk_usage(home.root)
    places = tuple(
        Place(kind=kind, path=str(path), size_bytes=folder_bytes(path), count=_count(path, pattern))
        for kind, path, pattern in wanted
    )
    return Storage(home=str(home.root), places=places, free_bytes=usage.free, disk_bytes=usage.total)


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; links are not followed, what vanishes meanwhile or is closed to us is 0."""
    total, left = 0, [str(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def _count(folder: Path, pattern: str) -> int:
    try:
        return sum(1 for _ in folder.glob(pattern))
    except OSError:
        return 0
