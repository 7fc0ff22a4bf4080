"""`anneal resume`: go on after a pause, or from the newest checkpoint as the run's next attempt."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.cli.asking import ask_and_wait
from studio.cli.commands.train import follow_to_end
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.run_argument import add_run, find_run

NAME = "resume"
HELP = "let a paused, stopped or lost run go on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument("--detach", action="store_true", help="do not follow it")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """As `train`."""
    row = find_run(studio, given.run)
    if row.is_active and studio.runs.is_alive(row.id):
        return ask_and_wait(studio, row, studio.runs.unpause, output, wait_seconds=60.0)
    studio.runs.resume(row.id)
    if given.detach:
        output.text(row.id)
        output.result({"id": row.id, "folder": str(studio.runs.folder(row.id).path)})
        return ExitCode.DONE
    output.note(f"Resuming {row.id} from step {row.checkpoint_step}.")
    return follow_to_end(studio, row.id, output, after_attempt=row.attempt)
