"""Starting a process that outlives us, and ending one with all its descendants. Nothing else in the app detaches.

POSIX: a session of its own, so that neither a terminal's hang-up nor the window's end reaches it. Windows: detached, in
a process group of its own, out of our job. On both no handle of ours is inherited, and output goes to a log file, so
that the engine never waits for a reader.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from engine.protocol.heartbeat import start_ticks


def start_detached(
    command: Sequence[str], *, environment: Mapping[str, str], log: Path, folder: Path
) -> subprocess.Popen[bytes]:
    """Start `command` in `folder`, appending what it prints to `log`. Raises OSError.

    The handle is for `poll()` only; hand it to `Children`, which reaps it or lets it go.
    """
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_BREAKAWAY_FROM_JOB
    with log.open("ab") as output:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            close_fds=True,
            start_new_session=os.name == "posix",
            creationflags=flags,
        )


class Children:
    """The detached processes that this process started: reaped when they end, let go when we end first."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: dict[str, int] = {}

    def add(self, name: str, process: subprocess.Popen[bytes]) -> None:
        self._ended.pop(name, None)
        self._running[name] = process

    def is_running(self, name: str) -> bool:
        """Whether a child of that name was started here and has not ended."""
        self._reap()
        return name in self._running

    def exit_code(self, name: str) -> int | None:
        """How the child ended (negative: by that signal); None while it runs or where we did not start it."""
        self._reap()
        return self._ended.get(name)

    def pid(self, name: str) -> int | None:
        """Of a running child."""
        process = self._running.get(name)
        return process.pid if process else None

    def let_go(self) -> None:
        """We end; they go on."""
        for process in self._running.values():
            if process.poll() is None:
                process.returncode = 0  # Popen would warn of a child that is still running: here that is the point
        self._running.clear()

    def _reap(self) -> None:
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is not None:
                self._ended[name] = code
                del self._running[name]


def is_same_process(pid: int, ticks: int) -> bool:
    """Whether `pid` is still the process that wrote those raw start ticks (pids are used again)."""
    return ticks > 0 and start_ticks(pid) == ticks


def end_tree(pid: int, ticks: int, *, patience_seconds: float = 5.0) -> bool:
    """End the process, its descendants and what else is in its session: asked first, after `patience_seconds` killed.

    Returns whether all are gone. A pid that is another process by now is left alone: that counts as gone.
    """
    if not is_same_process(pid, ticks):
        return True
    family = _family(pid)
    for process in family:
        _quietly(process.terminate)
    for process in _left_after(family, patience_seconds):
        _quietly(process.kill)
    return not _left_after(family, patience_seconds)


def _left_after(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that have not ended within the time. Only looks: psutil's own waiting would reap our children, and the
    exit code would be lost to `Children`."""
    deadline = time.monotonic() + seconds
    while True:
        processes = [process for process in processes if process.is_running() and not _is_zombie(process)]
        if not processes or time.monotonic() > deadline:
            return processes
        time.sleep(0.02)


def _family(pid: int) -> list[psutil.Process]:
    try:
        head = psutil.Process(pid)
        found = {head.pid: head, **{child.pid: child for child in head.children(recursive=True)}}
    except psutil.NoSuchProcess:
        return []
    if os.name == "posix":
        for process in psutil.process_iter():
            try:
                if os.getsid(process.pid) == pid:  # also those whose own parent has gone
                    found[process.pid] = process
            except OSError:
                continue
    return list(found.values())


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _quietly(action: Callable[[], None]) -> None:
    try:
        action()
    except psutil.NoSuchProcess:
        return
