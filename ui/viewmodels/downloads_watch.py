"""Our downloads as the window sees them: read twice a second while somebody looks, commanded off the GUI thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from ui.bridge import Control, Repeat, Tasks
from ui.services import Services

if TYPE_CHECKING:
    from studio.hub.downloads import Download, Downloads

INTERVAL_MILLISECONDS = 500


class DownloadsWatch(QObject):
    """`changed` comes when the list differs from the last one; `failed` carries the exception of a command."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, tasks: Tasks, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._tasks, self._services = tasks, services
        self._repeat: Repeat | None = None
        self._list: tuple[Download, ...] = ()

    @property
    def any_active(self) -> bool:
        """Whether bytes are coming, or about to."""
        return any(download.is_active for download in self._list)

    def find(self, repository: str, revision: str) -> Download | None:
        """The newest download of this revision."""
        wanted = (repository, revision or "main")
        return next((one for one in self._list if (one.repository, one.revision) == wanted), None)

    def watch(self) -> None:
        """Begin to look."""
        if self._repeat is None:
            self._repeat = self._tasks.every(INTERVAL_MILLISECONDS, self._read, self._told, self)

    def rest(self) -> None:
        """Nobody looks any more."""
        if self._repeat is not None:
            self._repeat.stop()
            self._repeat = None

    def start(self, repository: str, revision: str) -> None:
        """Begin to fetch, or go on at the byte where it was."""
        self._do(lambda downloads: downloads.start(repository, revision or "main"))

    def pause(self, identity: str) -> None:
        """Stop for now."""
        self._do(lambda downloads: downloads.pause(identity))

    def resume(self, identity: str) -> None:
        """Go on at the byte where it was."""
        self._do(lambda downloads: downloads.resume(identity))

    def cancel(self, identity: str) -> None:
        """Stop; what has come stays, and so does the row."""
        self._do(lambda downloads: downloads.cancel(identity))

    def remove(self, identity: str) -> None:
        """Forget a download that is not running, and its unfinished files."""
        self._do(lambda downloads: downloads.remove(identity))

    def _do(self, command: Callable[[Downloads], object]) -> None:
        def work(control: Control) -> tuple[Download, ...]:
            downloads = self._services.hub().downloads
            command(downloads)
            return downloads.list()

        self._tasks.run(work, owner=self, on_result=self._told, on_error=self.failed.emit, touches=("downloads",))

    def _read(self, control: Control) -> tuple[Download, ...]:
        return self._services.hub().downloads.list()

    def _told(self, found: tuple[Download, ...]) -> None:
        if found != self._list:
            self._list = found
            self.changed.emit()
