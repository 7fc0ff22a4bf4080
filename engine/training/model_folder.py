"""Where a recipe's model lies on this disk. The engine never downloads: what is not here is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any  # Any: config.json is plain JSON

import numpy as np

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
    """Tensor name → the file of a model folder that holds it.

    Raises SurroundingsError("weights_missing"), or ("weights_index_broken").
    """
    found: dict[str, SafetensorsFile] = {}
    for name in _weight_files(folder):
        path = folder / Path(name).name  # an index may not lead out of its folder
        if not path.is_file():
            raise SurroundingsError(
                "weights_missing", f"{folder} has no {path.name}.", "Download the model again.", where=str(path)
            )
        file = SafetensorsFile(path)
        found.update(dict.fromkeys(file.entries, file))
    return found


def _weight_files(folder: Path) -> list[str]:
    index = folder / INDEX_FILE
    if not index.is_file():
        return [WEIGHTS_FILE]
    try:
        return sorted({str(name) for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SurroundingsError(
            "weights_index_broken", f"{index} cannot be read: {error}.", "Download the model again.", where=str(index)
        ) from error


def check_tied_head(files: dict[str, SafetensorsFile], head: str, embedding: str) -> None:
    """A tied model's files may hold the head a second time.

    Raises SurroundingsError("head_not_tied") where it is another one: transformers would compute with it, and we with
    the embedding.
    """
    if head in files and not np.array_equal(files[head].read(head), files[embedding].read(embedding)):
        raise SurroundingsError(
            "head_not_tied",
            f"config.json ties {head} to {embedding}, but the files hold two different tensors.",
            "If the head is meant to be one of its own, set tie_word_embeddings to false in config.json.",
            where=head,
        )
