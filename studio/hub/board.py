"""How far a download is: written to by the transferring thread, read by the one that saves progress."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence

import msgspec

from engine.protocol.codec import utc_now
from engine.protocol.errors import Problem
from studio.hub.download_state import DownloadProgress, FileState, FileStateName, StoredState

_SPEED_WINDOW_SECONDS = 5.0


class Board:
    """Progress in memory, and the wish to stop. Every method may be called from any thread."""

    def __init__(self, before: DownloadProgress) -> None:
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._progress = msgspec.structs.replace(before, state="preparing", notice=None, problem=None)
        self._files = {file.name: file for file in before.files}
        self._current = ""
        self._received: deque[tuple[float, int]] = deque()

    def plan(self, commit: str, files: Sequence[FileState]) -> None:
        """The commit and the files that were found to be needed."""
        with self._lock:
            self._files = {file.name: file for file in files}
            self._progress = msgspec.structs.replace(self._progress, commit=commit)

    def begin(self, name: str) -> None:
        """This file is being fetched; `at` speaks of it from now on."""
        with self._lock:
            self._current = name
            self._progress = msgspec.structs.replace(self._progress, state="loading")
            self._set(name, state="loading")

    def at(self, done_bytes: int) -> None:
        """So many bytes of the current file are on disk."""
        with self._lock:
            came = done_bytes - self._files[self._current].done_bytes
            if came > 0:
                self._received.append((time.monotonic(), came))
            self._set(self._current, done_bytes=done_bytes)

    def end(self, name: str, state: FileStateName) -> None:
        """This file is whole."""
        with self._lock:
            self._set(name, state=state, done_bytes=self._files[name].size_bytes)

    def waits(self, notice: Problem | None) -> None:
        """Why nothing moves right now; None when it does."""
        with self._lock:
            self._progress = msgspec.structs.replace(self._progress, notice=notice)

    def close(self, state: StoredState, problem: Problem | None = None) -> None:
        """How it ended."""
        with self._lock:
            self._progress = msgspec.structs.replace(self._progress, state=state, problem=problem, notice=None)
            for name in [name for name, file in self._files.items() if file.state == "loading"]:
                self._set(name, state="waiting")
            self._received.clear()

    def snapshot(self) -> DownloadProgress:
        """Everything as of now, with the speed over the last seconds."""
        with self._lock:
            return msgspec.structs.replace(
                self._progress, files=tuple(self._files.values()), bytes_per_second=self._speed(), updated_utc=utc_now()
            )

    def _set(self, name: str, **changes: object) -> None:
        self._files[name] = msgspec.structs.replace(self._files[name], **changes)

    def _speed(self) -> float:
        now = time.monotonic()
        while self._received and self._received[0][0] < now - _SPEED_WINDOW_SECONDS:
            self._received.popleft()
        if not self._received:
            return 0.0
        elapsed = max(now - self._received[0][0], 0.5)
        return sum(came for _, came in self._received) / elapsed
