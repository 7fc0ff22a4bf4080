"""The recipe: what the user wants. Flat, one key a setting, YAML on disk.

    text ──parse_recipe──► Recipe (None = the default) ──resolve──► Recipe with every default filled in ──► plan

`fields.FIELDS` says what each key means; this file says how it is read, written and checked.
"""

from __future__ import annotations

import difflib
import hashlib
from typing import Literal, cast

import msgspec
import yaml

from engine.protocol.codec import VERSION
from engine.protocol.errors import Problem, ProblemsError, SurroundingsError
from engine.protocol.fields import FIELDS
from engine.protocol.schema import Setting
from engine.protocol.yaml_reader import read_yaml


class ModelRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model: a Hub repository (`revision` is a branch, tag or commit; a launch pins the commit) or a folder."""

    source: Literal["hub", "folder"] = "hub"
    repository: str = ""
    revision: str = ""
    path: str = ""

    def label(self) -> str:
        """What a person calls it: the repository, or the folder's last name."""
        return (
            self.repository if self.source == "hub" else self.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        )


LARGEST_WEIGHT = 1000.0


class DatasetRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file or folder of rows. `format` None: detected. `columns` maps our role to the file's column name. `weight`:
    how often each row is taken in an epoch, more than 0 and at most LARGEST_WEIGHT."""

    path: str
    format: str | None = None
    columns: dict[str, str] = {}
    weight: float = 1.0


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """None stands for the field's default."""

    version: int = VERSION
    name: str | None = None
    seed: int | None = None
    model: ModelRef | None = None
    datasets: tuple[DatasetRef, ...] = ()
    evaluation_datasets: tuple[DatasetRef, ...] = ()
    evaluation_fraction: float | None = None
    sequence_length: int | None = None
    packing: bool | None = None
    loss_on: str | None = None
    chat_template: str | None = None
    method: str | None = None
    precision: str | None = None
    lora_rank: int | None = None
    lora_alpha: float | None = None
    lora_dropout: float | None = None
    lora_targets: tuple[str, ...] | None = None
    use_rslora: bool | None = None
    micro_batch_size: int | None = None
    gradient_accumulation_steps: int | None = None
    epochs: float | None = None
    maximum_steps: int | None = None
    learning_rate: float | None = None
    schedule: str | None = None
    warmup_ratio: float | None = None
    decay_ratio: float | None = None
    minimum_learning_rate_ratio: float | None = None
    optimizer: str | None = None
    weight_decay: float | None = None
    adam_beta1: float | None = None
    adam_beta2: float | None = None
    adam_epsilon: float | None = None
    maximum_grad_norm: float | None = None
    evaluate_every: float | None = None
    sample_prompts: tuple[str, ...] | None = None
    sample_tokens: int | None = None
    checkpoint_every: float | None = None
    keep_last: int | None = None
    keep_best: int | None = None
    recompute: str | None = None
    threads: int | None = None


class ResolvedRecipe(Recipe, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recipe in which every default has been filled in: no key is None but `maximum_steps` and `threads`.

    The types are narrowed so that the engine needs no checks for None.
    """

    name: str
    seed: int
    model: ModelRef
    evaluation_fraction: float
    sequence_length: int
    packing: bool
    loss_on: str
    chat_template: str
    method: str
    precision: str
    lora_rank: int
    lora_alpha: float
    lora_dropout: float
    lora_targets: tuple[str, ...]
    use_rslora: bool
    micro_batch_size: int
    gradient_accumulation_steps: int
    epochs: float
    learning_rate: float
    schedule: str
    warmup_ratio: float
    decay_ratio: float
    minimum_learning_rate_ratio: float
    optimizer: str
    weight_decay: float
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    maximum_grad_norm: float
    evaluate_every: float
    sample_prompts: tuple[str, ...]
    sample_tokens: int
    checkpoint_every: float
    keep_last: int
    keep_best: int
    recompute: str


def parse_recipe(text: str) -> Recipe:
    """A recipe from YAML. Raises SurroundingsError that names the key or line and the remedy."""
    content = read_yaml(text)
    if not isinstance(content, dict):
        raise SurroundingsError("not_a_recipe", "The recipe is not a list of `key: value` lines.", "See the README.")
    version = content.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        raise SurroundingsError(
            "recipe_too_new",
            f"The recipe is of version {version}; this release reads up to {VERSION}.",
            "Update Anneal Studio.",
            where="version",
        )
    return from_mapping({str(key): value for key, value in content.items()})


def from_mapping(content: dict[str, object]) -> Recipe:
    """A recipe from plain data. Every unknown key is reported at once, each with the nearest known one."""
    unknown = [_unknown_key(key) for key in content if key not in FIELDS and key != "version"]
    if unknown:
        raise ProblemsError(unknown)
    try:
        return msgspec.convert(content, Recipe)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$.")
        where = place.rstrip("`")
        raise SurroundingsError(
            "wrong_type",
            f"{where or 'The recipe'}: {message[0].lower()}{message[1:]}.",
            "Give a value of that type.",
            where=where.partition("[")[0].partition(".")[0],
        ) from None


def to_yaml(recipe: Recipe) -> str:
    """The recipe as YAML; keys that are not set are left out. An empty list that was set is written: it is not the
    default."""
    unset = Recipe()
    content = {
        key: value
        for key, value in msgspec.to_builtins(recipe).items()
        if key == "version" or getattr(recipe, key) != getattr(unset, key)
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def value_or_default(recipe: Recipe, key: str) -> Setting:
    """The value in force for a plain field (not `model` or datasets)."""
    value = getattr(recipe, key)
    return cast("Setting", FIELDS[key].default(recipe) if value is None else value)


def resolve(recipe: Recipe) -> ResolvedRecipe:
    """Fill in every default. Raises SurroundingsError("no_model") without a model."""
    if recipe.model is None:
        raise SurroundingsError("no_model", "No model is chosen.", "Choose a model.", where="model")
    content: dict[str, object] = {field: getattr(recipe, field) for field in recipe.__struct_fields__}
    for key, spec in FIELDS.items():
        if content[key] is None:
            content[key] = spec.default(recipe)
    return msgspec.convert(content, ResolvedRecipe, from_attributes=True)


def check(recipe: Recipe) -> list[Problem]:
    """Everything that is wrong with the recipe by itself, each problem beside its key."""
    problems = []
    if recipe.model is None or not (recipe.model.repository if recipe.model.source == "hub" else recipe.model.path):
        problems.append(Problem("no_model", "No model is chosen.", "Choose a model.", where="model"))
    if not recipe.datasets:
        problems.append(Problem("no_dataset", "No dataset is chosen.", "Choose a file or folder.", where="datasets"))
    problems += _weight_problems(recipe)
    for key, spec in FIELDS.items():
        if spec.kind in ("model", "datasets"):
            continue
        problem = spec.problem(value_or_default(recipe, key))
        if problem is not None:
            problems.append(problem)
    if value_or_default(recipe, "method") == "lora" and recipe.lora_targets == ():
        problems.append(
            Problem("no_targets", "No projection gets an adapter.", "Choose at least one.", where="lora_targets")
        )
    return problems


def _weight_problems(recipe: Recipe) -> list[Problem]:
    return [
        Problem(
            "weight_out_of_range",
            f"The weight of {dataset.path} is {dataset.weight:g}.",
            f"Give more than 0 and at most {LARGEST_WEIGHT:g}, or leave the dataset out.",
            where=key,
            arguments={"path": dataset.path, "weight": dataset.weight},
        )
        for key in ("datasets", "evaluation_datasets")
        for dataset in getattr(recipe, key)
        if not 0.0 < dataset.weight <= LARGEST_WEIGHT
    ]


def recipe_hash(recipe: Recipe) -> str:
    """SHA-256 of the resolved recipe without its name: two recipes that train the same have the same hash."""
    content = msgspec.to_builtins(resolve(recipe))
    content.pop("name")
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _unknown_key(key: str) -> Problem:
    nearest = difflib.get_close_matches(key, list(FIELDS), n=1, cutoff=0.5)
    remedy = f"Did you mean {nearest[0]}?" if nearest else "Remove it."
    return Problem(
        "unknown_key",
        f"There is no setting {key!r}.",
        remedy,
        where=key,
        arguments={"key": key, "nearest": nearest[0] if nearest else None},
    )
