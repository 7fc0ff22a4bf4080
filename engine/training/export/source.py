"""What an export is made of: the base model's folder, one checkpoint, and the recipe that led there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from engine.protocol.recipe import ResolvedRecipe
from engine.training.checkpoint import CheckpointManifest

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
    """`run` is the run's id, `run_name` free text that may be empty. `template` is the chat template that was trained
    with, where it is not the model's own."""

    base: Path
    checkpoint: Path
    checkpoint_sha256: str
    manifest: CheckpointManifest
    recipe: ResolvedRecipe
    run: str
    run_name: str
    template: str | None = None

    @property
    def adapter_scale(self) -> float:
        """What the adapter's output is multiplied by: alpha / rank, or alpha / √rank (rsLoRA, Kalajdzievski 2023)."""
        rank = self.recipe.lora_rank
        return self.recipe.lora_alpha / (math.sqrt(rank) if self.recipe.use_rslora else rank)
