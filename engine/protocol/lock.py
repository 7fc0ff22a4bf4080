"""Who is alive: a process holds an operating-system lock on a file for as long as it lives.

The kernel frees the lock when the process dies, however it dies, so a lock never lies. The file's content is nothing.
"""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from engine.protocol.errors import SurroundingsError


class ProcessLock:
    """Hold `path` for this process's life. `acquire` raises SurroundingsError("already_running") where another does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path, thread_local=False)

    def acquire(self, wait_seconds: float = 1.0) -> None:
        """Take the lock, waiting a little because a prober may hold it for an instant."""
        try:
            self._lock.acquire(timeout=wait_seconds, poll_interval=0.02)
        except Timeout:
            raise SurroundingsError(
                "already_running", f"Another process holds {self._path}.", "Wait for it to end, or stop it."
            ) from None

    def release(self) -> None:
        self._lock.release()


def is_held(path: Path) -> bool:
    """Whether some process holds the lock now. A missing file is not held; nothing is created."""
    if not path.exists():
        return False
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False
