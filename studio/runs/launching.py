"""Making a run folder: complete under its final name, or not there at all."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from engine.protocol.errors import Problem, ProblemsError
from engine.protocol.files import rename_folder, write_atomically
from engine.protocol.folder import RunFolder
from engine.protocol.plan import Plan, encode_plan
from engine.protocol.recipe import Recipe, check, recipe_hash, resolve, to_yaml
from studio.home import Home
from studio.runs.identity import new_run_id
from studio.runs.user_file import UserData, write_user

_UNFINISHED = ".launching-"
_LEFTOVERS = (f"{_UNFINISHED}*", ".deleting-*")


def refuse_bad(recipe: Recipe, plan: Plan) -> None:
    """Raise ProblemsError with everything that forbids this launch, all of it at once."""
    problems = [problem for problem in (*check(recipe), *plan.problems) if problem.severity == "error"]
    problems += _relative_paths(recipe)
    if not problems and plan.recipe_hash != recipe_hash(recipe):
        problems.append(
            Problem("plan.stale", "The plan was made for other settings.", "Wait for the new plan, then launch.")
        )
    if problems:
        raise ProblemsError(problems)


def _relative_paths(recipe: Recipe) -> list[Problem]:
    """The engine works in the run's folder: a path that means something only here would mean nothing there."""
    return [
        Problem("path.relative", f"{dataset.path} is a relative path.", "Name the whole path.", where=key)
        for key in ("datasets", "evaluation_datasets")
        for dataset in getattr(recipe, key)
        if not Path(dataset.path).is_absolute()
    ]


def make_run_folder(home: Home, recipe: Recipe, plan: Plan, user: UserData) -> RunFolder:
    """Write recipe.yaml (every default filled in), plan.json and user.json under a new id. Raises OSError."""
    remove_unfinished(home)
    run_id = new_run_id()
    while home.run(run_id).path.exists():
        run_id = new_run_id()
    unfinished = RunFolder(home.runs / f"{_UNFINISHED}{run_id}")
    try:
        unfinished.create()
        write_atomically(unfinished.recipe, to_yaml(resolve(recipe)))
        write_atomically(unfinished.plan, encode_plan(plan))
        write_user(unfinished, user)
        rename_folder(unfinished.path, home.run(run_id).path)
    except OSError:
        shutil.rmtree(unfinished.path, ignore_errors=True)
        raise
    return home.run(run_id)


def default_name(recipe: Recipe) -> str:
    """What a run is called when nobody named it: its model and its method."""
    resolved = resolve(recipe)
    return resolved.name or f"{resolved.model.label().rpartition('/')[2]} {resolved.method}"


def remove_unfinished(home: Home) -> None:
    """Clear away what a kill left of a launch or deletion. One that is under way is less than a minute old."""
    for pattern in _LEFTOVERS:
        for path in home.runs.glob(pattern):
            if time.time() - path.stat().st_mtime > 60.0:
                shutil.rmtree(path, ignore_errors=True)
