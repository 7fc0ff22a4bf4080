"""`anneal checkpoint`: save one after the current step."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.cli.asking import ask_and_wait
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.run_argument import add_run, find_run

NAME = "checkpoint"
HELP = "let a run save a checkpoint now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument("--wait", type=float, default=60.0, metavar="SECONDS", help="how long to wait for the answer")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    return ask_and_wait(studio, find_run(studio, given.run), studio.runs.checkpoint, output, wait_seconds=given.wait)
