"""`anneal models`: what is on this disk and whether it can be trained; with words, a search of the Hub."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.words import count, gigabytes
from studio.hub.records import SearchQuery, Verdict

NAME = "models"
HELP = "models on this disk, or on the Hub"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("search", nargs="*", metavar="WORD", help="search the Hub for these words")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    if given.search:
        return _search(studio, " ".join(given.search), output)
    found = studio.hub().local()
    output.result(found)
    output.table(
        ["model", "revision", "size", "trainable", "folder"],
        [
            [m.label, ", ".join(m.revisions) or m.commit[:8], gigabytes(m.size_bytes), _verdict(m.verdict), m.path]
            for m in found.models
        ],
    )
    output.problems(found.problems)
    return ExitCode.DONE


def _search(studio: Studio, words: str, output: Output) -> ExitCode:
    page = studio.hub().search(SearchQuery(text=words)).next_page()
    output.result(page)
    output.table(
        ["model", "parameters", "downloads", "licence", "trainable"],
        [
            [m.repository, count(m.parameters), count(m.downloads), m.licence or "", _verdict(m.verdict)]
            for m in page.models
        ],
    )
    return ExitCode.DONE


def _verdict(verdict: Verdict) -> str:
    if verdict.problems:
        return f"no: {verdict.problems[0].message}"
    return {"trainable": "yes", "refused": "no", "unknown": "unknown"}[verdict.state]
