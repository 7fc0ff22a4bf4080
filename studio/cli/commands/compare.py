"""`anneal compare`: where runs differ, and what came of it. The first is the baseline."""

from __future__ import annotations

import argparse

from engine.protocol.errors import SurroundingsError
from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.run_argument import add_run, find_run
from studio.cli.words import count, duration, gib, number
from studio.runs.compare import Comparison, MetricRow, Result, compare

NAME = "compare"
HELP = "two or more runs side by side"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser, several=True)
    parser.add_argument("--all", action="store_true", help="also settings that do not differ")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    rows = [find_run(studio, text) for text in given.runs]
    if len({row.id for row in rows}) < 2:
        raise SurroundingsError("compare.one_run", "A comparison needs two different runs.", "Name another one.")
    comparison = compare(rows, studio.store, differences_only=not given.all)
    output.result(comparison)
    _print(comparison, output)
    return ExitCode.DONE


def _print(comparison: Comparison, output: Output) -> None:
    names = [f"{letter} {row.name or row.id}" for letter, row in zip("ABCDEFGH", comparison.runs, strict=False)]
    names += [row.name or row.id for row in comparison.runs[len(names) :]]
    if comparison.settings:
        output.table(["setting", *names], [[row.label, *row.values] for row in comparison.settings])
    else:
        output.text("All settings are the same.")
    output.text()
    output.table(
        ["result", *names], [[row.label, *(_cell(row, result) for result in row.results)] for row in comparison.metrics]
    )
    for name, reasons in zip(names, comparison.unlike, strict=True):
        if reasons:
            output.text(f"≠ {name} is not like for like with A: {', '.join(reasons)} differ.")


def _cell(row: MetricRow, result: Result) -> str:
    if result.value is None:
        return "–"
    mark = {True: " ▲ better", False: " ▽ worse", None: ""}[result.better]
    delta = f" ({'+' if result.delta > 0 else '−'}{_value(row, abs(result.delta))}{mark})" if result.delta else ""
    return _value(row, result.value) + delta


def _value(row: MetricRow, value: float) -> str:
    match row.unit:
        case "bytes":
            return gib(value)
        case "s":
            return duration(value)
        case "tokens" | "steps" | "tokens/s":
            return count(round(value))
        case _:
            return number(value)
