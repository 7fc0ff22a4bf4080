"""Whether the numbers go on as they were planned: same model, data, tokenizer, shapes, threads, engine.

A first attempt is refused when the plan no longer fits what is on disk; a resume is refused when the checkpoint was
made under other numerics. Both name what changed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.planner.identity import model_hash
from engine.planner.make import ENGINE_VERSION
from engine.protocol.data_messages import DataStatistics
from engine.protocol.errors import SurroundingsError
from engine.protocol.plan import Numerics
from engine.protocol.recipe import ResolvedRecipe

RECIPE_KEYS = (
    "learning_rate", "schedule", "warmup_ratio", "decay_ratio", "minimum_learning_rate_ratio", "weight_decay",
    "adam_beta1", "adam_beta2", "adam_epsilon", "maximum_grad_norm", "packing", "loss_on", "chat_template",
    "evaluation_fraction", "epochs", "maximum_steps",
)  # fmt: skip
"""Recipe keys that change numbers and are not in the plan's own list."""

WORDS = {
    "model_hash": "the model's files",
    "dataset_hash": "the dataset's files",
    "tokenizer_hash": "the tokenizer",
    "engine_version": "the engine's version",
    "maximum_documents": "the documents in a row",
    "threads": "the number of CPU threads",
}


def numerics_record(numerics: Numerics, recipe: ResolvedRecipe) -> dict[str, object]:
    """Everything that can change a bit of this run, by key, as a checkpoint keeps it."""
    record: dict[str, object] = msgspec.to_builtins(numerics)
    content = msgspec.to_builtins(recipe)
    return {**record, **{key: content[key] for key in RECIPE_KEYS}}


def check_model(numerics: Numerics, folder: Path) -> None:
    """Raises SurroundingsError("plan_outdated") where the model on disk (or the engine) is not the planned one."""
    found: dict[str, object] = {"model_hash": model_hash(folder), "engine_version": ENGINE_VERSION}
    _refuse("plan_outdated", _changed(msgspec.to_builtins(numerics), found), "Plan and launch again.")


def check_data(numerics: Numerics, statistics: DataStatistics) -> None:
    """Raises SurroundingsError("plan_outdated") where the data on disk is not the planned one."""
    found: dict[str, object] = {
        "dataset_hash": statistics.dataset_hash,
        "tokenizer_hash": statistics.tokenizer_hash,
        "maximum_documents": statistics.max_documents,
    }
    _refuse("plan_outdated", _changed(msgspec.to_builtins(numerics), found), "Plan and launch again.")


def check_resume(checkpoint: dict[str, object], record: dict[str, object]) -> None:
    """Raises SurroundingsError("numerics_changed") where a checkpoint was made under other numerics."""
    now = msgspec.json.decode(msgspec.json.encode(record), type=dict[str, object])
    before = msgspec.json.decode(msgspec.json.encode(checkpoint), type=dict[str, object])
    _refuse(
        "numerics_changed",
        _changed(before, now),
        "Change it back to resume, or launch a new run from this checkpoint's settings.",
    )


def _changed(before: dict[str, object], now: dict[str, object]) -> list[str]:
    return [key for key, value in now.items() if before.get(key) != value]


def _refuse(code: str, changed: list[str], remedy: str) -> None:
    if changed:
        names = ", ".join(WORDS.get(key, key) for key in changed)
        raise SurroundingsError(
            code, f"The numbers would not go on as planned: {names} changed.", remedy, changed=", ".join(changed)
        )
