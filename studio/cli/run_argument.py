"""RUN on the command line: the beginning of an id, a unique name, or `last`."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.runs.rows import RunRow


def add_run(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """One RUN as `run`, or several as `runs`."""
    text = "the beginning of an id, a unique name, or `last`"
    if several:
        parser.add_argument("runs", metavar="RUN", nargs="+", help=text)
    else:
        parser.add_argument("run", metavar="RUN", help=text)


def find_run(studio: Studio, text: str) -> RunRow:
    """The run, after reading what is new. Raises SurroundingsError("run.unknown" | "run.ambiguous")."""
    studio.runs.refresh()
    return studio.store.find(text)
