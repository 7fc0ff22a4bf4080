"""`anneal plan`: what a recipe would take, and whether it can be launched. Launches nothing."""

from __future__ import annotations

import argparse

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.plan_text import print_plan
from studio.cli.planning import plan_with_progress
from studio.cli.recipe_arguments import add_recipe_arguments, read_document

NAME = "plan"
HELP = "memory, speed, time and problems of a recipe"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_recipe_arguments(parser)


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """DONE where the recipe can be launched, else REFUSED."""
    document = read_document(studio, given.recipe, given.settings)
    planned = plan_with_progress(studio, document.recipe, output)
    print_plan(planned, output)
    output.result({"can_launch": planned.can_launch, "plan": planned.plan, "problems": planned.problems})
    return ExitCode.DONE if planned.can_launch else ExitCode.REFUSED
