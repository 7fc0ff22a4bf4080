"""Storage in words, for Doctor and Settings alike."""

from __future__ import annotations

from pathlib import Path

from studio.machine.storage import Place, Storage, measure_storage
from ui.format import disk
from ui.services import Services
from ui.tr import plural, tr
from ui.widgets.place_list import PlaceLine


def read_storage(services: Services) -> Storage:
    """Measure every place. Blocking."""
    return measure_storage(services.home, services.settings.load(), services.hub().cache)


def total_words(storage: Storage) -> str:
    """How much there is of everything."""
    return tr(
        "{used} used by Anneal Studio · {free} free of {all}",
        used=disk(storage.used_bytes), free=disk(storage.free_bytes), all=disk(storage.disk_bytes),
    )  # fmt: skip


def place_lines(storage: Storage) -> list[PlaceLine]:
    """One line a place."""
    return [_line(place, storage.disk_bytes) for place in storage.places]


def _line(place: Place, whole: int) -> PlaceLine:
    names = {
        "models": tr("Model cache"), "runs": tr("Runs and checkpoints"), "exports": tr("Exports"),
        "tokens": tr("Tokenised rows"), "downloads": tr("Downloads"),
    }  # fmt: skip
    counts = {
        "models": plural(place.count, "{count} model", "{count} models"),
        "runs": plural(place.count, "{count} run", "{count} runs"),
        "exports": plural(place.count, "{count} export", "{count} exports"),
        "tokens": tr("safe to clear"),
        "downloads": plural(place.count, "{count} download", "{count} downloads"),
    }
    share = place.size_bytes / whole if whole else 0.0
    return PlaceLine(names[place.kind], disk(place.size_bytes), short_path(place.path), counts[place.kind], share)


def short_path(path: str) -> str:
    """With "~" for the user's folder."""
    home = str(Path.home())
    return "~" + path[len(home) :] if len(home) > 1 and path.startswith(home) else path
