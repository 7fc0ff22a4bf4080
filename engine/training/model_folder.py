"""Where a recipe's model lies on this disk. The engine never downloads: what is not here is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any  # Any: config.json is plain JSON

from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import ModelRef
from engine.training.safetensors_file import SafetensorsFile

WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"


def model_folder(model: ModelRef) -> Path:
    """The folder with config.json. Raises SurroundingsError("model_missing")."""
    folder = _hub_folder(model) if model.source == "hub" else Path(model.path)
    if folder is None or not (folder / "config.json").is_file():
        raise SurroundingsError(
            "model_missing",
            f"The model {model.label()} is not on this disk.",
            "Download it." if model.source == "hub" else "Choose the folder again.",
            where="model",
        )
    return folder.resolve()


def _hub_folder(model: ModelRef) -> Path | None:
    """The snapshot in the Hub's cache (HF_HOME and its kin are honoured by the library)."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        found = snapshot_download(model.repository, revision=model.revision or None, local_files_only=True)
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return Path(found)


def read_config(folder: Path) -> dict[str, Any]:  # Any: see the import
    """config.json. Raises SurroundingsError("config_broken")."""
    try:
        content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SurroundingsError(
            "config_broken", f"{folder / 'config.json'} cannot be read: {error}.", "Download the model again."
        ) from error
    return content if isinstance(content, dict) else {}


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
