"""The window's size and its splitters, kept per screen in `<home>/window.ini`."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QMainWindow, QSplitter

DEFAULT_SIZE = (1440, 900)
MINIMUM_SIZE = (1024, 600)


class Geometry:
    """Remembers by name. What cannot be read is as if it had never been kept."""

    def __init__(self, path: Path) -> None:
        self._settings = QSettings(str(path), QSettings.Format.IniFormat)

    def restore_window(self, window: QMainWindow) -> None:
        """The size and place of last time, or the default size."""
        window.setMinimumSize(*MINIMUM_SIZE)
        kept = self._settings.value("window/geometry")
        if not (isinstance(kept, QByteArray) and window.restoreGeometry(kept)):
            window.resize(*DEFAULT_SIZE)

    def save_window(self, window: QMainWindow) -> None:
        """Keep size and place; written at once."""
        self._settings.setValue("window/geometry", window.saveGeometry())
        self._settings.sync()

    def restore_splitter(self, name: str, splitter: QSplitter) -> None:
        """The position that `splitter` had under `name`."""
        kept = self._settings.value(f"splitters/{name}")
        if isinstance(kept, QByteArray):
            splitter.restoreState(kept)

    def save_splitter(self, name: str, splitter: QSplitter) -> None:
        """Keep a splitter's position under `name`."""
        self._settings.setValue(f"splitters/{name}", splitter.saveState())
