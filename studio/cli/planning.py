"""Planning with progress on standard error, for `plan` and `train`."""

from __future__ import annotations

from engine.protocol.data_messages import DataProgress
from engine.protocol.recipe import Recipe
from studio.app import Studio
from studio.cli.output import Output
from studio.cli.words import duration
from studio.datasets.worker import OnProgress
from studio.planning.service import Planned


def plan_with_progress(studio: Studio, recipe: Recipe, output: Output) -> Planned:
    """The full plan. A model that is on the Hub and not here brings the line that fetches it."""

    planned = studio.planning.full(recipe, show_progress(output))
    output.status("")
    model = recipe.model
    if not planned.model_folder and model is not None and model.source == "hub" and model.repository:
        revision = f" --revision {model.revision}" if model.revision else ""
        output.note(f"The model is not on this disk. Fetch it with: anneal download {model.repository}{revision}")
    output.problems(planned.problems)
    return planned


def show_progress(output: Output) -> OnProgress:
    """Progress of the data worker on the terminal's passing line."""

    def show(progress: DataProgress) -> None:
        share = f" {progress.done / progress.total:.0%}" if progress.total else ""
        left = f", {duration(progress.remaining_seconds)} left" if progress.remaining_seconds else ""
        output.status(f"{progress.phase}{share}{left}")

    return show
