"""All downloads of a home: start, list, pause, cancel, resume, remove. The work is done by `studio.hub.download`."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from engine.protocol.codec import utc_now
from engine.protocol.errors import Problem, SurroundingsError
from engine.protocol.lock import ProcessLock, is_held
from studio.environment import module_command
from studio.hub.cache_layout import RepositoryCache
from studio.hub.download_state import (
    CommandKind,
    DownloadCommand,
    DownloadFolder,
    DownloadProgress,
    DownloadRequest,
    DownloadState,
    FileState,
    TransferLimits,
)
from studio.runs.process import Children, start_detached

_ACTIVE = ("waiting", "preparing", "loading")
_GOODBYE_SECONDS = 10.0
_REPOSITORY = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9_][\w.-]*)?")


class Download(msgspec.Struct, frozen=True):
    """One row of the list. "interrupted": its process has gone without a word; it can be resumed."""

    id: str
    repository: str
    revision: str
    commit: str
    state: DownloadState
    done_bytes: int
    total_bytes: int
    bytes_per_second: float
    files: tuple[FileState, ...]
    notice: Problem | None
    problem: Problem | None
    created_utc: str

    @property
    def is_active(self) -> bool:
        return self.state in _ACTIVE

    @property
    def seconds_left(self) -> float | None:
        """At the present speed; None where nothing moves."""
        return (self.total_bytes - self.done_bytes) / self.bytes_per_second if self.bytes_per_second > 0 else None


class Downloads:
    """The downloads below one folder. Each is its own process; several windows and the CLI may look at once."""

    def __init__(
        self,
        folder: Path,
        cache: Path,
        environment: Callable[[], Mapping[str, str]],
        limits: TransferLimits | None = None,
    ) -> None:
        self._folder = folder
        self._cache = cache
        self._environment = environment
        self._limits = limits or TransferLimits()
        self._children = Children()

    def start(self, repository: str, revision: str = "main") -> str:
        """Begin to fetch, or go on with what was begun for the same revision. Returns the download's id.

        Raises SurroundingsError("hub_bad_name") or OSError.
        """
        if not _REPOSITORY.fullmatch(repository):
            raise SurroundingsError(
                "hub_bad_name", f"“{repository}” is not the name of a model.", "A name looks like organisation/model."
            )
        for download in self.list():
            if (download.repository, download.revision) == (repository, revision) and download.state != "done":
                self.resume(download.id)
                return download.id
        identity = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
        folder = DownloadFolder(self._folder / identity)
        folder.path.mkdir(parents=True)
        folder.write_request(DownloadRequest(identity, repository, revision, str(self._cache), utc_now(), self._limits))
        folder.write_progress(DownloadProgress(updated_utc=utc_now()))
        self._spawn(folder)
        return identity

    def list(self) -> tuple[Download, ...]:
        """Every download, newest first. Folders that cannot be read are left out."""
        found = []
        for path in sorted(self._folder.glob("*/request.json"), reverse=True):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                found.append(self._read(DownloadFolder(path.parent)))
        return tuple(found)

    def get(self, identity: str) -> Download:
        """One download. Raises SurroundingsError("download_not_found")."""
        try:
            return self._read(self._at(identity))
        except (OSError, msgspec.MsgspecError) as error:
            raise _not_found(identity) from error

    def pause(self, identity: str) -> None:
        """Ask it to stop; it can be resumed. Harmless where it is not running."""
        self._end(identity, "pause")

    def cancel(self, identity: str) -> None:
        """Ask it to stop. The row and what has come stay, and it can be resumed; `remove` takes them away."""
        self._end(identity, "cancel")

    def resume(self, identity: str) -> None:
        """Go on at the byte where it was. Harmless where it is running or done.

        Raises SurroundingsError("download_running") where its last process does not end.
        """
        folder = self._at(identity)
        download = self.get(identity)
        if download.is_active or download.state == "done":
            return
        with self._holding(folder, _GOODBYE_SECONDS) as held:  # its last process may be on its way out
            if not held:
                raise _running(download.repository)
            before = folder.progress()
            folder.write_progress(
                msgspec.structs.replace(
                    before,
                    state="waiting",
                    attempt=before.attempt + 1,
                    notice=None,
                    problem=None,
                    updated_utc=utc_now(),
                )
            )
        self._spawn(folder)

    def remove(self, identity: str) -> int:
        """Forget a download that is not running, and delete its unfinished files. Returns the bytes that this freed.

        Raises SurroundingsError("download_running").
        """
        folder = self._at(identity)
        download = self.get(identity)
        if download.is_active:
            raise _running(download.repository)
        freed = 0
        with self._holding(folder, _GOODBYE_SECONDS) as held:  # its last process may be on its way out
            if not held:
                raise _running(download.repository)
            for part in self._own_leftovers(folder, download):
                freed += part.stat().st_size
                part.unlink()
        shutil.rmtree(folder.path)
        return freed

    def close(self) -> None:
        """We end; the downloads go on."""
        self._children.let_go()

    def _own_leftovers(self, folder: DownloadFolder, download: Download) -> Sequence[Path]:
        """Its unfinished files; none while another revision of the same model is being fetched, which may use them."""
        if any(other.is_active and other.repository == download.repository for other in self.list()):
            return ()
        return RepositoryCache(Path(folder.request().cache), download.repository).leftovers()

    def _at(self, identity: str) -> DownloadFolder:
        if Path(identity).name != identity or identity in ("", ".", ".."):
            raise _not_found(identity)
        return DownloadFolder(self._folder / identity)

    def _read(self, folder: DownloadFolder) -> Download:
        request = folder.request()
        progress = folder.progress()
        state: DownloadState = progress.state
        if state in _ACTIVE and not self._is_alive(folder):
            progress = folder.progress()  # it may have ended between the two looks
            state = "interrupted" if progress.state in _ACTIVE else progress.state
        alive = state in _ACTIVE
        return Download(
            id=folder.path.name,
            repository=request.repository,
            revision=request.revision,
            commit=progress.commit,
            state=state,
            done_bytes=progress.done_bytes,
            total_bytes=progress.total_bytes,
            bytes_per_second=progress.bytes_per_second if alive else 0.0,
            files=progress.files,
            notice=progress.notice if alive else None,
            problem=progress.problem,
            created_utc=request.created_utc,
        )

    def _is_alive(self, folder: DownloadFolder) -> bool:
        return self._children.is_running(_child_name(folder)) or is_held(folder.lock)

    def _end(self, identity: str, kind: CommandKind) -> None:
        folder = self._at(identity)
        self.get(identity)
        progress = folder.progress()
        folder.write_command(DownloadCommand(kind, progress.attempt))
        if self._is_alive(folder):
            return
        with self._holding(folder, 0.2) as held:
            if held and progress.state not in ("done", "failed"):
                state = "paused" if kind == "pause" else "cancelled"
                folder.write_progress(msgspec.structs.replace(progress, state=state, updated_utc=utc_now()))

    @contextlib.contextmanager
    def _holding(self, folder: DownloadFolder, wait_seconds: float) -> Iterator[bool]:
        """The download's lock for a moment, so that its progress has one writer; False where its process has it."""
        lock = ProcessLock(folder.lock)
        try:
            lock.acquire(wait_seconds)
        except SurroundingsError:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _spawn(self, folder: DownloadFolder) -> None:
        process = start_detached(
            module_command("studio.hub.download", "--request", str(folder.request_file)),
            environment=self._environment(),
            log=folder.log,
            folder=folder.path,
        )
        self._children.add(_child_name(folder), process)


def _child_name(folder: DownloadFolder) -> str:
    """One name an attempt: the last one may still be ending when the next begins."""
    return f"{folder.path.name}.{folder.progress().attempt}"


def _running(repository: str) -> SurroundingsError:
    return SurroundingsError("download_running", f"{repository} is being fetched.", "Cancel it first.")


def _not_found(identity: str) -> SurroundingsError:
    return SurroundingsError("download_not_found", f"There is no download {identity!r}.", "List them first.")
