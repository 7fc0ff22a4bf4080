"""The home folder: where each thing that the app keeps lies.

`--home` wins over ANNEAL_HOME, which wins over the user's data folder of this system. Everything moves together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs

from engine.protocol.errors import SurroundingsError
from engine.protocol.files import write_atomically
from engine.protocol.folder import RunFolder

HOME_VERSION = 1
_FOLDERS = ("recipes", "exports", "downloads", "logs", "cache/tokens", "cache/hub-index", "runs")


class HomeFile(msgspec.Struct, frozen=True):
    """`home.json`: marks the folder as ours and says which layout it has."""

    version: int


@dataclass(frozen=True)
class Home:
    """Paths below the home folder. Nothing here touches the disk."""

    root: Path

    @property
    def marker(self) -> Path:
        return self.root / "home.json"

    @property
    def settings(self) -> Path:
        return self.root / "settings.json"

    @property
    def window(self) -> Path:
        return self.root / "window.ini"

    @property
    def history(self) -> Path:
        return self.root / "history.db"

    @property
    def ingest_lock(self) -> Path:
        return self.root / "ingest.lock"

    @property
    def queue(self) -> Path:
        return self.root / "queue.json"

    @property
    def draft(self) -> Path:
        return self.root / "draft.yaml"

    @property
    def recipes(self) -> Path:
        return self.root / "recipes"

    @property
    def exports(self) -> Path:
        return self.root / "exports"

    @property
    def downloads(self) -> Path:
        return self.root / "downloads"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def tokens_cache(self) -> Path:
        return self.root / "cache" / "tokens"

    @property
    def hub_index_cache(self) -> Path:
        return self.root / "cache" / "hub-index"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    def run(self, run_id: str) -> RunFolder:
        """The folder of one run. `run_id` is a folder name, never a path."""
        if Path(run_id).name != run_id or run_id in ("", ".", ".."):
            raise SurroundingsError(
                "run.bad_id", f"{run_id!r} is not the id of a run.", "Look it up with `anneal runs`."
            )
        return RunFolder(self.runs / run_id)


def find_home(chosen: Path | str | None, environment: Mapping[str, str]) -> Path:
    """Where the home is, by the order at the top of this file. Absolute; nothing is created."""
    named = chosen or environment.get("ANNEAL_HOME")
    if named:
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_data_dir("anneal-studio", appauthor=False))


def open_home(root: Path) -> Home:
    """Create what is missing and check the version.

    Raises SurroundingsError("home.unwritable") where the folder cannot be made, ("home.newer") where a newer version
    of the app made it, and ("home.unreadable") where `home.json` is not ours.
    """
    home = Home(root.absolute())
    try:
        for name in _FOLDERS:
            (home.root / name).mkdir(parents=True, exist_ok=True)
        if not home.marker.exists():
            write_atomically(home.marker, msgspec.json.encode(HomeFile(HOME_VERSION)))
        content = home.marker.read_bytes()
    except OSError as error:
        raise SurroundingsError(
            "home.unwritable",
            f"The folder {home.root} cannot be written: {error.strerror or error}.",
            "Choose another with --home or ANNEAL_HOME.",
            path=str(home.root),
        ) from error
    _check_version(home, content)
    return home


def _check_version(home: Home, content: bytes) -> None:
    try:
        version = msgspec.json.decode(content, type=HomeFile).version
    except msgspec.MsgspecError as error:
        raise SurroundingsError(
            "home.unreadable", f"{home.marker} is not a home file: {error}.", "Choose another folder with --home."
        ) from error
    if version > HOME_VERSION:
        raise SurroundingsError(
            "home.newer",
            f"{home.root} was made by a newer Anneal Studio (layout {version}, this one knows {HOME_VERSION}).",
            "Update Anneal Studio, or choose another folder with --home.",
        )
