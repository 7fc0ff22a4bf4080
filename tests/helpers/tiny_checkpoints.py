"""A checkpoint of a tiny model with random adapters (or random weights), as an export starts from one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, ResolvedRecipe, resolve
from engine.training.checkpoint import (
    ADAPTER_FILE,
    CheckpointManifest,
    TensorFile,
    TrainingState,
    checkpoint_hash,
    read_manifest,
    save_checkpoint,
)
from engine.training.export.source import ExportSource
from engine.training.model_folder import WEIGHTS_FILE, open_weights
from engine.training.safetensors_file import Array, TensorEntry


def tiny_recipe(model: Path, **settings: object) -> ResolvedRecipe:
    """The resolved recipe of a run on `model`."""
    reference = ModelRef(source="folder", path=str(model))
    return resolve(Recipe(model=reference, datasets=(DatasetRef(path="rows.jsonl"),), **settings))  # type: ignore[arg-type]  # settings are recipe keys


def export_source(root: Path, model: Path, *, seed: int = 5, spread: float = 0.2, **settings: object) -> ExportSource:
    """Save a checkpoint of random trained tensors below `root` and describe it as the source of an export."""
    recipe = tiny_recipe(model, **settings)
    entries = _adapter_entries(model, recipe) if recipe.method == "lora" else _weight_entries(model)
    generator = np.random.default_rng(seed)

    def read(entry: TensorEntry) -> Array:
        return (generator.standard_normal(entry.shape, np.float32) * np.float32(spread)).astype(np.float32)

    manifest = CheckpointManifest(
        run="20261201T110203-K7QF",
        attempt=1,
        time_utc="2026-12-01T11:02:03.000Z",
        method=recipe.method,
        precision=recipe.precision,
        base_model={},
        numerics={},
        state=TrainingState(step=12, updates=12, micro_batches=24, trained_tokens=4321, evaluation_loss=1.25),
    )
    folder = root / "checkpoints" / "step-00000012"
    name = ADAPTER_FILE if recipe.method == "lora" else WEIGHTS_FILE
    save_checkpoint(folder, [TensorFile(name, entries, read)], manifest)
    return ExportSource(
        base=model,
        checkpoint=folder,
        checkpoint_sha256=checkpoint_hash(folder),
        manifest=read_manifest(folder),
        recipe=recipe,
        run="20261201T110203-K7QF",
        run_name=recipe.name,
    )


def _adapter_entries(model: Path, recipe: ResolvedRecipe) -> list[TensorEntry]:
    entries = []
    for name, file in sorted(open_weights(model).items()):
        module = name.removesuffix(".weight")
        if name.endswith(".weight") and module.rpartition(".")[2] in recipe.lora_targets:
            outputs, inputs = file.entries[name].shape
            rank = recipe.lora_rank
            entries.append(TensorEntry(f"base_model.model.{module}.lora_A.weight", "F32", (rank, inputs)))
            entries.append(TensorEntry(f"base_model.model.{module}.lora_B.weight", "F32", (outputs, rank)))
    return entries


def _weight_entries(model: Path) -> list[TensorEntry]:
    return [TensorEntry(name, "F32", file.entries[name].shape) for name, file in sorted(open_weights(model).items())]
