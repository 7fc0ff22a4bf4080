"""`anneal data`: what a dataset looks like, and one row as the tokens that would be trained on."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.protocol.data_messages import DatasetPreviewed, DataStatistics, TokensInspected
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe
from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.planning import show_progress
from studio.cli.words import count, gigabytes
from studio.recipes.setting_text import parse_setting

NAME = "data"
HELP = "format, counts, and one row as tokens with its mask"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a file or folder")
    parser.add_argument("--model", metavar="MODEL", help="whose tokenizer and chat template to use")
    parser.add_argument("--row", type=int, default=1, help="the row to show as tokens, from 1 (default 1)")
    parser.add_argument("--format", metavar="NAME", help="take this format instead of the detected one")
    parser.add_argument("--loss-on", choices=("assistant", "last_assistant", "all"), help="which turns are trained on")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """DONE where rows can be used, REFUSED where the format is unknown."""
    dataset = DatasetRef(str(given.file.expanduser().absolute()), format=given.format)
    seen = studio.datasets.preview(dataset)
    _print(seen, output)
    statistics, tokens = None, None
    if given.model:
        reference = parse_setting("model", given.model)
        assert isinstance(reference, ModelRef)
        recipe = Recipe(model=reference, datasets=(dataset,), loss_on=given.loss_on)
        folder = Path(studio.planning.describe(recipe).folder)
        statistics = studio.datasets.measure(recipe, folder, studio.home.tokens_cache, show_progress(output))
        output.status("")
        tokens = studio.datasets.tokens(recipe, folder, given.row - 1)
        _print_statistics(statistics, output)
        _print_tokens(tokens, output)
    else:
        output.note("With --model, also counts of tokens, and one row as tokens with its mask.")
    output.result({"preview": seen, "statistics": statistics, "tokens": tokens})
    return ExitCode.DONE if seen.format else ExitCode.REFUSED


def _print(seen: DatasetPreviewed, output: Output) -> None:
    output.text(f"Format       {seen.format or 'unknown'}: {seen.evidence}")
    whole = "" if seen.complete else " looked at so far"
    output.text(f"Rows         {count(len(seen.rows))}{whole}, {count(len(seen.problems))} unreadable")
    output.text(f"Files        {count(len(seen.files))}, {gigabytes(seen.size_bytes)}")
    output.text(f"Columns      {', '.join(seen.columns)}")
    for problem in seen.problems:
        output.text(f"Left out     {problem.file}, line {problem.line}: {problem.reason}")


def _print_statistics(statistics: DataStatistics, output: Output) -> None:
    training = statistics.training
    output.text(
        f"Counts       {count(statistics.rows_read)} rows, {count(statistics.rows_left_out)} left out; "
        f"{count(training.tokens)} tokens to train on, {count(training.trained_tokens)} of them with loss"
    )
    for issue in statistics.issues:
        output.text(f"Mind         {issue.message} ({count(issue.count)}, {issue.effect.replace('_', ' ')})")


def _print_tokens(tokens: TokensInspected, output: Output) -> None:
    """Trained text stands in 【…】."""
    text, trained = "", False
    for piece, is_trained in zip(tokens.texts, tokens.trained, strict=True):
        if is_trained != trained:
            text += "【" if is_trained else "】"
            trained = is_trained
        text += piece
    output.text(
        f"Row          line {tokens.place.line}: {count(len(tokens.ids))} tokens, "
        f"{count(sum(tokens.trained))} trained on (in 【】), template {tokens.template}"
    )
    if tokens.reason:
        output.text(f"Left out     {tokens.reason}")
    output.text(text + ("】" if trained else ""))
