"""What became of a run whose events say that it is at work, when no engine holds its lock.

lock held                      → attached: nothing to settle
last event says it ended       → finished while we were away: the events have told it already
neither                        → lost: how (reboot, memory, kill, …), the last log lines, where it can resume
"""

from __future__ import annotations

import contextlib
import signal

from msgspec.structs import replace

from engine.protocol import heartbeat
from engine.protocol.errors import Problem
from engine.protocol.folder import RunFolder
from studio.runs.exit_file import Exit, read_exit, write_exit
from studio.runs.liveness import Liveness
from studio.runs.log_tail import last_lines
from studio.runs.rows import RunRow

_SHOWN_LINES = 12


def reconcile(row: RunRow, folder: RunFolder, liveness: Liveness) -> RunRow:
    """The row of a run that was at work and has no engine any more: `lost`, with the reason."""
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    return replace(
        row,
        status="lost",
        reason=lost_reason(row, folder, _exit(row, folder, liveness)),
        ended_utc=beat.time_utc if beat else None,
        remaining_seconds=None,
        tokens_per_second=None,
    )


def _exit(row: RunRow, folder: RunFolder, liveness: Liveness) -> Exit | None:
    code = liveness.exit_code(folder)
    if code is None:
        return read_exit(folder, row.attempt)
    ended = Exit(row.attempt, code, liveness.was_out_of_memory(folder))
    with contextlib.suppress(OSError):  # the disk may be full, perhaps the very reason: it is told all the same
        write_exit(folder, ended)
    return ended


def lost_reason(row: RunRow, folder: RunFolder, ended: Exit | None) -> Problem:
    """Why an engine is gone that did not say so itself: a code, the last log lines, what can be done."""
    beat = heartbeat.read_heartbeat(folder.heartbeat)
    lines = last_lines(folder.engine_log, _SHOWN_LINES)
    remedy = f"Resume from step {row.checkpoint_step}." if row.checkpoint_step is not None else "Launch it again."
    rebooted = beat is not None and beat.boot_id != heartbeat.boot_id()
    if rebooted:
        code, message = "run.lost.reboot", "The machine was restarted while the run was at work."
    elif ended is not None and ended.out_of_memory:
        code, message = "run.lost.memory", "The system ended the engine because memory ran out."
        remedy += " Choose settings that need less memory, or close other programs."
    elif ended is not None and ended.code < 0:
        code, message = "run.lost.signal", f"The engine was ended by {_signal_name(-ended.code)}."
    elif row.attempt == 0 and lines:
        code, message = "run.lost.before_first_event", f"The engine ended before it began: {lines[-1]}"
    else:
        code, message = "run.lost.vanished", "The engine ended without a word."
        message += f" Its last line: {lines[-1]}" if lines else ""
    exit_code = ended.code if ended else None
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
