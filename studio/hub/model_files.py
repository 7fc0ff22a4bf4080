"""Which files make a trainable model, told from their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"

_WEIGHTS = re.compile(r"model(?:-(\d{5})-of-(\d{5}))?\.safetensors")
_OF_A_MODEL = re.compile(
    r"(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|chat_template)\.json"
    r"|model\.safetensors\.index\.json|merges\.txt|vocab\.txt|tokenizer\.model|chat_template\.jinja"
)
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".msgpack", ".h5")
_SMALL = (".json", ".txt", ".jinja", ".model")


def weight_files(names: Iterable[str]) -> list[str]:
    """The safetensors that hold the model: the whole or its shards, not variants or copies in sub-folders."""
    return sorted(name for name in names if _WEIGHTS.fullmatch(name))


def has_safetensors(names: Iterable[str]) -> bool:
    return any(name.endswith(".safetensors") for name in names)


def has_pickles(names: Iterable[str]) -> bool:
    return any(name.endswith(_PICKLES) and not name.startswith("training_args") for name in names)


def has_gguf(names: Iterable[str]) -> bool:
    return any(name.lower().endswith(".gguf") for name in names)


def missing_shards(names: Iterable[str]) -> list[str]:
    """What the names of the shards promise and is not there (a lone `00001-of-00003` promises two more)."""
    present = set(names)
    totals = {match[2] for name in present if (match := _WEIGHTS.fullmatch(name)) and match[2]}
    promised = {f"model-{i:05d}-of-{total}.safetensors" for total in totals for i in range(1, int(total) + 1)}
    if promised:
        promised.add(INDEX)
    return sorted(promised - present)


def is_needed(name: str) -> bool:
    """Whether training, sampling or export reads this file: weights, settings, tokenizer, templates, terms."""
    if _WEIGHTS.fullmatch(name):
        return True
    path = PurePosixPath(name)
    if path.parent.name == "additional_chat_templates":
        return path.suffix == ".jinja"
    if len(path.parts) > 1:
        return False
    return path.suffix in _SMALL or path.stem.upper() in ("README", "LICENSE", "LICENCE", "NOTICE", "USE_POLICY")


def is_surely_of_a_model(name: str) -> bool:
    """Whether a file of this name can be nothing but a model's. What a person may have put beside it (rows, notes, a
    README) is not: this is what may be deleted with a model."""
    return bool(_WEIGHTS.fullmatch(name) or _OF_A_MODEL.fullmatch(name))


def needed_files(names: Iterable[str]) -> list[str]:
    """The names that a download fetches, small ones before the weights, each group by name."""
    return sorted((name for name in names if is_needed(name)), key=lambda name: (bool(_WEIGHTS.fullmatch(name)), name))


def is_safe_name(name: str) -> bool:
    """Whether a repository's file name stays below the folder that it is written into, on any system."""
    parts = name.split("/")
    return bool(name) and not any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts)
