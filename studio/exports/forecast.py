"""What an export will take on disk, told before anything is written: from the files that it will be made of."""

from __future__ import annotations

import shutil
from pathlib import Path

from studio.exports.service import ExportFormat

_ADAPTER = "adapter_model.safetensors"
_WEIGHTS = "*.safetensors"
_TOKENIZER = "tokenizer*.json"


def predicted_bytes(kind: ExportFormat, checkpoint: Path, model: Path) -> int | None:
    """Bytes of an export of `checkpoint` (its folder) over `model` (the base's folder); None where these are not there.

    An adapter is copied from the checkpoint; a merged model has the base's shapes and types. Both carry the tokenizer.
    """
    try:
        weights = [checkpoint / _ADAPTER] if kind == "peft" else sorted(model.glob(_WEIGHTS))
        if not weights:
            return None
        return sum(path.stat().st_size for path in [*weights, *model.glob(_TOKENIZER)])
    except OSError:
        return None


def free_bytes(target: Path) -> int:
    """Free bytes of the disk that `target` will lie on, whether it exists yet or not. Raises OSError."""
    while not target.exists():
        target = target.parent
    return shutil.disk_usage(target).free
