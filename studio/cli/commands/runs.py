"""`anneal runs`: the history, newest first."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.words import count, duration, local_time, number
from studio.runs.query import RunQuery

NAME = "runs"
HELP = "list runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("search", nargs="*", metavar="WORD", help="words in name, notes, tags, model or dataset")
    parser.add_argument("--tag", action="append", default=[], dest="tags", help="only runs with this tag")
    parser.add_argument("--all", action="store_true", help="also archived runs")
    parser.add_argument("--limit", type=int, default=50, help="how many at most (default 50)")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    studio.runs.refresh()
    query = RunQuery(search=" ".join(given.search), tags=tuple(given.tags), archived=None if given.all else False)
    rows = studio.store.runs(query, limit=given.limit)
    output.result(rows)
    output.table(
        ["id", "name", "status", "launched", "steps", "loss", "best eval", "time", "tags"],
        [
            [
                row.id, row.name, row.status, local_time(row.created_utc),
                f"{count(row.step)}/{count(row.total_steps)}", number(row.loss), number(row.best_evaluation_loss),
                duration(row.seconds), ", ".join(row.tags),
            ]
            for row in rows
        ],
    )  # fmt: skip
    total = studio.store.count(query)
    if total > len(rows):
        output.note(f"{total - len(rows):,} more. Use --limit.")
    return ExitCode.DONE
