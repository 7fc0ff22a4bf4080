"""`anneal stop`: finish the step, save, end. Waits until the engine is gone."""

from __future__ import annotations

import argparse
import time

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.run_argument import add_run, find_run
from studio.cli.run_result import settled
from studio.cli.words import count
from studio.runs.rows import RunRow

NAME = "stop"
HELP = "let a run finish its step, save and end"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument("--discard", action="store_true", help="do not save a checkpoint")
    parser.add_argument(
        "--patience", type=float, default=300.0, metavar="SECONDS",
        help="after that time the engine's processes are ended",
    )  # fmt: skip


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """DONE where it ended by itself, RUN_FAILED where it had to be ended."""
    row = find_run(studio, given.run)
    studio.runs.stop(row.id, save=not given.discard, patience_seconds=given.patience)
    output.note("Asked the run to stop. It is ended if that takes too long.")
    while studio.runs.is_alive(row.id):
        studio.runs.refresh()
        time.sleep(0.05)
    return _tell(settled(studio, row.id), output)


def _tell(row: RunRow, output: Output) -> ExitCode:
    saved = f", checkpoint at step {count(row.checkpoint_step)}" if row.checkpoint_step is not None else ""
    output.text(f"{row.name or row.id}: {row.status} at step {count(row.step)}{saved}.")
    output.result(row)
    return ExitCode.DONE if row.status in ("stopped", "finished") else ExitCode.RUN_FAILED
