"""What an export is made of: the base model's folder, one checkpoint, and the recipe that led there."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import ResolvedRecipe
from engine.training.checkpoint import CheckpointManifest
from engine.training.safetensors_file import SafetensorsFile

ADAPTER_FILE = "adapter_model.safetensors"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
)
MODEL_FILES = ("config.json", "generation_config.json")
LICENCE_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE")


@dataclass(frozen=True)
class ExportSource:
    """`template` is the chat template that was trained with, where it is not the model's own."""

    base: Path
    checkpoint: Path
    checkpoint_sha256: str
    manifest: CheckpointManifest
    recipe: ResolvedRecipe
    run: str
    template: str | None = None

    @property
    def adapter_scale(self) -> float:
        """What the adapter's output is multiplied by: alpha / rank, or alpha / √rank (rsLoRA, Kalajdzievski 2023)."""
        rank = self.recipe.lora_rank
        return self.recipe.lora_alpha / (math.sqrt(rank) if self.recipe.use_rslora else rank)


def open_weights(folder: Path) -> dict[str, SafetensorsFile]:
    """Tensor name → the file of a model folder that holds it. Raises SurroundingsError("weights_missing")."""
    index = folder / INDEX_FILE
    names = sorted(set(json.loads(index.read_text())["weight_map"].values())) if index.is_file() else [WEIGHTS_FILE]
    found: dict[str, SafetensorsFile] = {}
    for name in names:
        path = folder / Path(name).name  # an index may not lead out of its folder
        if not path.is_file():
            raise SurroundingsError(
                "weights_missing", f"{folder} has no {path.name}.", "Download the model again.", where=str(path)
            )
        file = SafetensorsFile(path)
        found.update(dict.fromkeys(file.entries, file))
    return found
