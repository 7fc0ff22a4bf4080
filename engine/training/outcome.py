"""How a process of the engine ends: an exit code, and for a failure its name, message and remedy."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

import msgspec

from engine.protocol.errors import Bug, EngineError, SurroundingsError
from engine.protocol.events import RunFailed
from engine.training.disk_errors import disk_error
from engine.training.event_writer import EventWriter
from engine.training.memory import as_out_of_memory
from engine.training.redaction import redact


class ExitCode(IntEnum):
    """What a finished engine process says. 2 is argparse's, for a wrong command line."""

    DONE = 0
    FAILED = 1
    BUG = 3
    STOPPED = 4


def name_error(error: BaseException) -> EngineError:
    """Any exception as one of ours: the surroundings' fault where it is known, else a bug."""
    if isinstance(error, EngineError):
        return error
    if (memory := as_out_of_memory(error)) is not None:
        return memory
    if isinstance(error, OSError) and error.errno is not None:
        return disk_error(error, Path(error.filename or "a file of the run"))
    return Bug("unexpected", f"{type(error).__name__}: {error}", "This is a fault of Anneal Studio: please report it.")


def report_failure(events: EventWriter, error: BaseException, checkpoint_step: int | None) -> ExitCode:
    """Say what ended the process, as an event and on the last line of the log (standard error)."""
    trace = redact("".join(traceback.format_exception(error)))
    named = name_error(error)
    problem = named.problem()
    problem = msgspec.structs.replace(problem, message=redact(problem.message))
    is_bug = not isinstance(named, SurroundingsError)
    if is_bug:
        print(trace, file=sys.stderr)
    print(f"{problem.code}: {problem.message} {problem.remedy}".rstrip(), file=sys.stderr, flush=True)
    try:
        events.write(
            RunFailed(
                **events.stamp(),
                problem=problem,
                is_bug=is_bug,
                checkpoint_step=checkpoint_step,
                traceback=trace if is_bug else "",
            )
        )
    except OSError as disk:
        print(f"The last event could not be written: {disk}", file=sys.stderr, flush=True)
    return ExitCode.BUG if is_bug else ExitCode.FAILED


def printing_events(work: Callable[[EventWriter], ExitCode]) -> ExitCode:
    """Run a command without a run folder of its own: its events are JSON lines on standard output.

    SIGTERM means the same as Ctrl-C: what was begun is cleared away before the process ends. Main thread only.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    events = EventWriter(sys.stdout.buffer, attempt=0, last_sequence=0)
    try:
        return work(events)
    except KeyboardInterrupt:
        return ExitCode.STOPPED
    except Exception as error:  # whatever it is, it gets a name
        return report_failure(events, error, None)
    finally:
        signal.signal(signal.SIGTERM, before)
