"""What a person has set for the app itself (never for a run: that is the recipe).

Settings that change `HF_*` do nothing to this process: they are written into the environment of the next child
(`studio.environment`), because `huggingface_hub` reads its variables when it is imported.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

import msgspec

from engine.protocol.errors import SurroundingsError
from engine.protocol.files import write_atomically

SETTINGS_VERSION = 1
TextSize = Literal[100, 110, 125, 150]


class Settings(msgspec.Struct, frozen=True):
    """`settings.json`. `None` means: as the surroundings have it."""

    version: int = SETTINGS_VERSION
    theme: Literal["system", "light", "dark"] = "system"
    text_size: TextSize = 100
    reduce_motion: bool = False
    patterns_in_bars: bool = True
    hub_endpoint: str | None = None
    hub_home: str | None = None
    hub_cache: str | None = None
    hub_offline: bool = False
    model_folders: tuple[str, ...] = ()
    export_folder: str | None = None
    shortcuts: dict[str, str] = {}

    def hub_variables(self) -> dict[str, str]:
        """The `HF_*` variables that these settings ask for; what is not set here is inherited."""
        named = {
            "HF_ENDPOINT": self.hub_endpoint,
            "HF_HOME": self.hub_home,
            "HF_HUB_CACHE": self.hub_cache,
            "HF_HUB_OFFLINE": "1" if self.hub_offline else None,
        }
        return {name: value for name, value in named.items() if value}


class SettingsFile:
    """Reads and writes `settings.json`. What a newer version wrote there and we do not know is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changing = threading.Lock()  # a window changes two settings at once from two threads

    def load(self) -> Settings:
        """The settings; defaults where there is no file. Raises SurroundingsError("settings.unreadable")."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Settings)
        except FileNotFoundError:
            return Settings()
        except msgspec.MsgspecError as error:
            raise SurroundingsError(
                "settings.unreadable",
                f"{self._path} cannot be read: {error}.",
                "Correct the file, or delete it to start from the defaults.",
                path=str(self._path),
            ) from error

    def save(self, settings: Settings) -> None:
        """Replace the file atomically. Raises OSError; the old file stays then."""
        known: dict[str, object] = msgspec.to_builtins(settings)
        write_atomically(self._path, msgspec.json.format(msgspec.json.encode({**self._raw(), **known})))

    def change(self, **values: object) -> Settings:
        """Load, change the named settings, check and save them. Raises SurroundingsError("settings.bad_value")."""
        with self._changing:
            changed = {**msgspec.to_builtins(self.load()), **values}
            try:
                settings = msgspec.convert(changed, Settings)
            except msgspec.ValidationError as error:
                raise SurroundingsError("settings.bad_value", f"This setting cannot be used: {error}.") from error
            self.save(settings)
            return settings

    def _raw(self) -> dict[str, object]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, object])
        except (FileNotFoundError, msgspec.MsgspecError):
            return {}
