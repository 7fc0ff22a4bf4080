"""`anneal pause`: finish the step and wait. `anneal resume` goes on."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.cli.asking import ask_and_wait
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.run_argument import add_run, find_run

NAME = "pause"
HELP = "let a run finish its step and wait"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument("--wait", type=float, default=60.0, metavar="SECONDS", help="how long to wait for the answer")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    return ask_and_wait(studio, find_run(studio, given.run), studio.runs.pause, output, wait_seconds=given.wait)
