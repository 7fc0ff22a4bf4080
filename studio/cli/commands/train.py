"""`anneal train`: plan, launch, and follow the run to its end.

The run is a process of its own. Ctrl-C once asks it to stop and save, and goes on watching until it has; Ctrl-C again
leaves it to itself. `--detach` does not watch at all.
"""

from __future__ import annotations

import argparse
import secrets
import time

from engine.protocol.errors import SurroundingsError
from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.following import Teller
from studio.cli.output import Output
from studio.cli.planning import plan_with_progress
from studio.cli.recipe_arguments import add_recipe_arguments, read_document
from studio.cli.run_result import settled, tell_end
from studio.runs.follow import follow

NAME = "train"
HELP = "launch a recipe and follow the run"

_SECONDS_BETWEEN_REFRESHES = 0.5
"""While events come without a pause; a small model makes hundreds a second."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_recipe_arguments(parser)
    parser.add_argument("--name", help="what the run is called")
    parser.add_argument("--tag", action="append", default=[], dest="tags", help="a tag; may be given several times")
    parser.add_argument("--detach", action="store_true", help="launch only; the run's id goes to standard output")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """REFUSED where the plan has errors; with --detach DONE once launched; else how the run ended."""
    document = read_document(studio, given.recipe, given.settings)
    planned = plan_with_progress(studio, document.recipe, output)
    if planned.plan is None or not planned.can_launch:
        output.result({"problems": planned.problems})
        return ExitCode.REFUSED
    run_id = studio.runs.launch(
        planned.recipe, planned.plan, token=secrets.token_hex(8), name=given.name, tags=tuple(given.tags)
    )
    if given.detach:
        output.text(run_id)
        output.result({"id": run_id, "folder": str(studio.runs.folder(run_id).path)})
        return ExitCode.DONE
    output.note(f"Launched {run_id}. Ctrl-C stops and saves; twice leaves it running.")
    return follow_to_end(studio, run_id, output)


def follow_to_end(studio: Studio, run_id: str, output: Output, *, after_attempt: int = 0) -> ExitCode:
    """Tell the run until its engine has ended; of a resumed one only the attempts after `after_attempt`.
    See the module about Ctrl-C."""
    teller, asked, heard, refresh_at = Teller(output), False, False, 0.0
    events = follow(studio.runs.folder(run_id), lambda: studio.runs.is_alive(run_id))
    while True:
        try:
            for event in events:
                if event is None or time.monotonic() >= refresh_at:
                    studio.runs.refresh()
                    refresh_at = time.monotonic() + _SECONDS_BETWEEN_REFRESHES
                if event is not None and event.attempt > after_attempt:
                    heard = True
                    teller.tell(event)
            failure = None if heard else studio.runs.start_failure(run_id)
            if failure is not None:
                output.problems([failure])
                return ExitCode.RUN_FAILED
            return tell_end(settled(studio, run_id, attempt=after_attempt + 1 if heard else 0), output)
        except KeyboardInterrupt:
            if asked:
                output.note(f"{run_id} goes on by itself. See it with: anneal watch {run_id}")
                return ExitCode.INTERRUPTED
            asked = True
            _stop(studio, run_id, output)
            # A generator that was interrupted is over: look from here on again.
            events = follow(studio.runs.folder(run_id), lambda: studio.runs.is_alive(run_id), from_start=False)


def _stop(studio: Studio, run_id: str, output: Output) -> None:
    try:
        studio.runs.stop(run_id)
        output.note("Asked the run to stop and save. Ctrl-C again leaves it to itself.")
    except SurroundingsError as error:
        output.note(str(error))
