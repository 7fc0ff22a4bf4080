"""The adapter as a PEFT folder: the checkpoint's tensors byte for byte, and what they mean."""

from __future__ import annotations

import json
from pathlib import Path

from engine.protocol.errors import SurroundingsError
from engine.training.checkpoint import ADAPTER_FILE
from engine.training.export.source import ExportSource
from engine.training.export.tokenizer_files import copy_tokenizer
from engine.training.safetensors_file import SafetensorsFile, write_safetensors


def require_adapter(source: ExportSource) -> None:
    """Raises SurroundingsError("no_adapter") for a checkpoint of full fine-tuning."""
    if source.manifest.method != "lora":
        raise SurroundingsError(
            "no_adapter", "Full fine-tuning has no adapter to export.", "Export the merged model instead."
        )


def adapter_bytes(source: ExportSource) -> int:
    """What the folder will take, roughly, in bytes."""
    return source.manifest.files[ADAPTER_FILE].bytes + (64 << 20)


def adapter_configuration(source: ExportSource) -> dict[str, object]:
    """PEFT's `adapter_config.json`."""
    recipe = source.recipe
    alpha = recipe.lora_alpha
    is_hub = recipe.model.source == "hub"
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": recipe.model.repository if is_hub else str(source.base),
        "revision": (recipe.model.revision or None) if is_hub else None,
        "inference_mode": True,
        "r": recipe.lora_rank,
        "lora_alpha": int(alpha) if alpha == int(alpha) else alpha,
        "lora_dropout": recipe.lora_dropout,
        "use_rslora": recipe.use_rslora,
        "target_modules": sorted(recipe.lora_targets),
        "bias": "none",
        "fan_in_fan_out": False,
        "init_lora_weights": True,
        "modules_to_save": None,
        "use_dora": False,
    }


def write_adapter(source: ExportSource, folder: Path) -> None:
    """Write the PEFT files into `folder`. The tensors keep the checkpoint's type (float32)."""
    adapter = SafetensorsFile(source.checkpoint / ADAPTER_FILE)
    write_safetensors(
        folder / ADAPTER_FILE, list(adapter.entries.values()), lambda entry: adapter.read(entry.name), {"format": "pt"}
    )
    text = json.dumps(adapter_configuration(source), indent=2) + "\n"
    (folder / "adapter_config.json").write_text(text, encoding="utf-8")
    copy_tokenizer(source, folder)
