"""The model that a recipe names: its config, its folder if it is on this disk, the commit that a launch pins."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from engine.models.registry import ModelDescription, describe
from engine.planner.identity import model_hash
from engine.protocol.errors import EngineError, Problem, SurroundingsError
from engine.protocol.recipe import ModelRef, Recipe
from studio.hub.client import Hub

Config = dict[str, object]


class ModelSource(msgspec.Struct, frozen=True):
    """`folder` is "" and `hash` too while the model is not on this disk. `reference` is pinned where it can be."""

    reference: ModelRef
    config: Config
    folder: str = ""
    hash: str = ""

    def description(self) -> ModelDescription:
        """Raises SurroundingsError where the model cannot be trained."""
        return describe(self.config)


def find_model(reference: ModelRef, hub: Callable[[], Hub], *, may_ask_hub: bool) -> ModelSource:
    """Look on this disk, then (where allowed) at what the Hub tells of a model that is not downloaded.

    Raises SurroundingsError that says why the model cannot be planned with: missing, incomplete, refused.
    """
    if reference.source == "folder":
        return _in_folder(reference, Path(reference.path).expanduser())
    try:
        local = hub().find(reference)
    except SurroundingsError:
        if not may_ask_hub:
            raise
        return _from_hub(reference, hub())
    if local.missing:
        raise SurroundingsError(
            "model_incomplete", f"{local.label} lacks {local.missing[0]}.", "Download it again.", where="model"
        )
    return _in_folder(replace(reference, revision=local.commit), Path(local.path))


def pinned(recipe: Recipe, source: ModelSource) -> Recipe:
    """The recipe with the model's commit in place of a branch or tag: what is launched is what was planned."""
    return replace(recipe, model=source.reference)


def model_problem(error: EngineError) -> Problem:
    """The error as a problem of the recipe's `model` key."""
    return replace(error.problem(), where="model")


def _in_folder(reference: ModelRef, folder: Path) -> ModelSource:
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise SurroundingsError(
            "model_missing", f"{folder} holds no readable config.json: {error}.", "Choose the folder again.",
            where="model",
        ) from error  # fmt: skip
    if not isinstance(config, dict):
        raise SurroundingsError("model_missing", f"{folder / 'config.json'} is not a model's.", where="model")
    return ModelSource(reference, config, str(folder), model_hash(folder))


def _from_hub(reference: ModelRef, hub: Hub) -> ModelSource:
    details = hub.details(reference.repository, reference.revision or "main")
    if details.config is None:
        raise SurroundingsError(
            "model_unknown", f"The Hub does not show the config of {reference.repository}.",
            "Download the model, or ask for access to it.", where="model",
        )  # fmt: skip
    return ModelSource(replace(reference, revision=details.commit), dict(details.config))
