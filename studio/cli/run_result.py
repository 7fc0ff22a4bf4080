"""How a run ended, in words and as an exit code."""

from __future__ import annotations

import time

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.words import count, duration, number
from studio.runs.rows import RunRow

_CODES = {"failed": ExitCode.RUN_FAILED, "lost": ExitCode.RUN_FAILED, "stopped": ExitCode.STOPPED}


def settled(studio: Studio, run_id: str, *, attempt: int = 0, patience_seconds: float = 10.0) -> RunRow:
    """The run's row once the history has read the end that the engine of that attempt (or a later one) wrote; another
    process may be the one that reads."""
    deadline = time.monotonic() + patience_seconds
    while True:
        studio.runs.refresh()
        row = studio.store.run(run_id)
        if (not row.is_active and row.attempt >= attempt) or time.monotonic() > deadline:
            return row
        time.sleep(0.05)


def tell_end(row: RunRow, output: Output) -> ExitCode:
    """Print the end of a run and give its code."""
    output.text(f"Run          {row.name}  ({row.id})")
    output.text(
        f"Status       {row.status} at step {count(row.step)} of {count(row.total_steps)}, {duration(row.seconds)}"
    )
    output.text(f"Loss         {number(row.loss)} training, {number(row.evaluation_loss)} evaluation")
    if row.best_evaluation_loss is not None:
        output.text(f"Best         {number(row.best_evaluation_loss)} evaluation loss at step {count(row.best_step)}")
    if row.checkpoint_step is not None:
        output.text(f"Checkpoint   step {count(row.checkpoint_step)}")
    if row.reason is not None and row.status in ("failed", "lost"):
        output.text(f"Reason       {row.reason.message} {row.reason.remedy}".rstrip())
    output.result(row)
    return exit_code(row)


def exit_code(row: RunRow) -> ExitCode:
    """What a run's status is as an exit code."""
    return _CODES.get(row.status, ExitCode.DONE)
