"""`anneal watch`: follow a run that is live. Ctrl-C stops watching and nothing else."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.following import Teller
from studio.cli.output import Output
from studio.cli.run_argument import add_run, find_run
from studio.cli.run_result import exit_code, settled, tell_end
from studio.runs.follow import follow

NAME = "watch"
HELP = "follow a run to its end (with --json its events, one a line)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """How the run ended; INTERRUPTED where watching was."""
    row = find_run(studio, given.run)
    teller = Teller(output)
    for event in follow(studio.runs.folder(row.id), lambda: studio.runs.is_alive(row.id)):
        if event is None:
            studio.runs.refresh()
        elif output.as_json:
            output.result(event)
        else:
            teller.tell(event)
    ended = settled(studio, row.id)
    return exit_code(ended) if output.as_json else tell_end(ended, output)
