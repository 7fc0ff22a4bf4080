"""The datasets of the newest runs, to pick again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from studio.recipes import DatasetRef

if TYPE_CHECKING:
    from studio.runs.store import RunStore

_RUNS = 40
MOST = 8


class _Datasets(msgspec.Struct):
    """The part of a recipe that is wanted here."""

    datasets: tuple[DatasetRef, ...] = ()


def recent_datasets(store: RunStore) -> list[DatasetRef]:
    """Newest first, each path once, only those that are still there; blocks."""
    found: dict[str, DatasetRef] = {}
    for run in store.runs(limit=_RUNS):
        for dataset in msgspec.json.decode(run.recipe, type=_Datasets).datasets:
            if dataset.path not in found and Path(dataset.path).exists():
                found[dataset.path] = dataset
    return list(found.values())[:MOST]
