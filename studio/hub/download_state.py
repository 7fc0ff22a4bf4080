"""What a download is on disk: a folder with a request, its progress, perhaps a command, a lock and a log.

downloads/<id>/request.json    what is wanted; written once, holds no secret
               progress.json   how far it is; replaced by the process that holds the lock
               command.json    "pause" or "cancel", for the attempt that it names
               download.lock   held while the process lives
               download.log    what the process printed
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.errors import Problem
from engine.protocol.files import write_atomically

StoredState = Literal["waiting", "preparing", "loading", "paused", "cancelled", "failed", "done"]
DownloadState = Literal["waiting", "preparing", "loading", "interrupted", "paused", "cancelled", "failed", "done"]
FileStateName = Literal["waiting", "loading", "verified", "unverified", "on_disk"]
CommandKind = Literal["pause", "cancel"]


class TransferLimits(msgspec.Struct, frozen=True):
    """When a transfer gives up waiting. A connection is renewed after `silence_seconds` without a byte, or when
    `stall_seconds` brought fewer than `stall_bytes_per_second`; `attempts` in a row without a byte are a failure."""

    silence_seconds: float = 20.0
    stall_seconds: float = 30.0
    stall_bytes_per_second: int = 1024
    attempts: int = 6
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 60.0
    disk_reserve_bytes: int = 64 * 1024 * 1024


class DownloadRequest(msgspec.Struct, frozen=True):
    """`cache` is the Hub's cache folder; endpoint and token come with the environment, never with this file."""

    id: str
    repository: str
    revision: str
    cache: str
    created_utc: str
    limits: TransferLimits = TransferLimits()
    version: int = VERSION


class FileState(msgspec.Struct, frozen=True):
    """One file of a download. "unverified": a mirror gave no hash, so only the size was compared."""

    name: str
    size_bytes: int
    done_bytes: int = 0
    state: FileStateName = "waiting"


class DownloadProgress(msgspec.Struct, frozen=True):
    """`attempt` counts the processes; `notice` says why it waits right now, `problem` why it ended."""

    state: StoredState = "waiting"
    attempt: int = 1
    commit: str = ""
    files: tuple[FileState, ...] = ()
    bytes_per_second: float = 0.0
    notice: Problem | None = None
    problem: Problem | None = None
    updated_utc: str = ""
    version: int = VERSION

    @property
    def done_bytes(self) -> int:
        return sum(file.done_bytes for file in self.files)

    @property
    def total_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


class DownloadCommand(msgspec.Struct, frozen=True):
    """Meant for one attempt: a later one is not stopped by an old wish."""

    kind: CommandKind
    attempt: int


@dataclass(frozen=True)
class DownloadFolder:
    """The files of one download."""

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "download.lock"

    @property
    def log(self) -> Path:
        return self.path / "download.log"

    @property
    def request_file(self) -> Path:
        return self.path / "request.json"

    def request(self) -> DownloadRequest:
        """Raises OSError or msgspec.MsgspecError."""
        return msgspec.json.decode(self.request_file.read_bytes(), type=DownloadRequest)

    def write_request(self, request: DownloadRequest) -> None:
        write_atomically(self.request_file, msgspec.json.encode(request))

    def progress(self) -> DownloadProgress:
        """What was last written; the beginning where nothing is."""
        try:
            return msgspec.json.decode((self.path / "progress.json").read_bytes(), type=DownloadProgress)
        except FileNotFoundError:
            return DownloadProgress()

    def write_progress(self, progress: DownloadProgress) -> None:
        write_atomically(self.path / "progress.json", msgspec.json.encode(progress))

    def command(self) -> DownloadCommand | None:
        try:
            return msgspec.json.decode((self.path / "command.json").read_bytes(), type=DownloadCommand)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def write_command(self, command: DownloadCommand) -> None:
        write_atomically(self.path / "command.json", msgspec.json.encode(command))
