"""What became of a run whose events say that it is at work, when no engine holds its lock.

lock held                      → attached: nothing to settle
last event says it ended       → finished while we were away: the events have told it already
neither                        → lost: how (reboot, kill, exit code), the last log lines, and from where it can resume
"""

from __future__ import annotations

import contextlib
import signal
import time
from typing import Protocol

import psutil
from msgspec.structs import replace

from engine.protocol import heartbeat, lock
from engine.protocol.errors import Problem
from engine.protocol.folder import RunFolder
from studio.runs.exit_file import Exit, read_exit, write_exit
from studio.runs.log_tail import last_lines
from studio.runs.process import Children
from studio.runs.rows import RunRow

LAUNCH_SECONDS = 120.0
"""How long a launch that another process made may take until its engine holds the lock."""

_SHOWN_LINES = 12


class Liveness(Protocol):
    """Who is alive. The one implementation is `EngineLiveness`; tests of reconciling give their own."""

    def is_alive(self, folder: RunFolder) -> bool: ...

    def exit_code(self, folder: RunFolder) -> int | None: ...


class EngineLiveness:
    """Asks the lock; for an engine that this process launched and that does not hold it yet, the process."""

    def __init__(self, children: Children) -> None:
        self._children = children

    def is_alive(self, folder: RunFolder) -> bool:
        """Whether an engine works on the run, or may be about to."""
        if is_elsewhere(folder):
            return True  # its lock cannot be asked from here: what its events say is all that is known
        return self._children.is_running(folder.id) or lock.is_held(folder.engine_lock) or self._is_young(folder)

    def exit_code(self, folder: RunFolder) -> int | None:
        """Of an engine that this process launched and that has ended."""
        return self._children.exit_code(folder.id)

    def _is_young(self, folder: RunFolder) -> bool:
        """A launch by another process (a window and a command line may work side by side) that has said nothing yet."""
        if folder.heartbeat.exists() or self._children.exit_code(folder.id) is not None:
            return False
        try:
            age = time.time() - folder.commands.stat().st_ctime
        except OSError:
            return False
        return 0 <= age < LAUNCH_SECONDS and folder.path.stat().st_ctime > psutil.boot_time()


def is_elsewhere(folder: RunFolder) -> bool:
    """Whether another host works, or worked, on the run: it is read-only here."""
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    return beat is not None and beat.host != heartbeat.host()


def reconcile(row: RunRow, folder: RunFolder, liveness: Liveness) -> RunRow:
    """The row of a run that was at work and has no engine any more: `lost`, with the reason."""
    beat, exit_code = heartbeat.read_heartbeat(folder.heartbeat), liveness.exit_code(folder)
    if exit_code is None:
        exit_code = read_exit(folder, row.attempt)
    else:
        with contextlib.suppress(OSError):  # the disk may be full, perhaps the very reason: it is told all the same
            write_exit(folder, Exit(row.attempt, exit_code))
    return replace(
        row,
        status="lost",
        reason=lost_reason(row, folder, exit_code),
        ended_utc=beat.time_utc if beat else None,
        remaining_seconds=None,
        tokens_per_second=None,
    )


def lost_reason(row: RunRow, folder: RunFolder, exit_code: int | None) -> Problem:
    """Why an engine is gone that did not say so itself: a code, the last log lines, what can be done."""
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    lines = last_lines(folder.engine_log, _SHOWN_LINES)
    remedy = f"Resume from step {row.checkpoint_step}." if row.checkpoint_step is not None else "Launch it again."
    rebooted = beat is not None and beat.boot_id != heartbeat.boot_id()
    if rebooted:
        code, message = "run.lost.reboot", "The machine was restarted while the run was at work."
    elif exit_code is not None and exit_code < 0:
        code, message = "run.lost.signal", f"The engine was ended by {_signal_name(-exit_code)}."
    elif row.attempt == 0 and lines:
        code, message = "run.lost.before_first_event", f"The engine ended before it began: {lines[-1]}"
    else:
        code, message = "run.lost.vanished", "The engine ended without a word."
        message += f" Its last line: {lines[-1]}" if lines else ""
    return Problem(
        code,
        message,
        remedy,
        arguments={"exit_code": exit_code, "log": "\n".join(lines), "checkpoint_step": row.checkpoint_step},
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
