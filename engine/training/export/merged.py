"""The merged model: a plain Hugging Face folder, W + scale · B · A computed in float32, then the base's own type.

One tensor is in memory at a time, so merging needs the memory of the largest tensor, whatever the size of the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.models.registry import build_model
from engine.models.weights import weight_map
from engine.protocol.errors import Bug
from engine.training.checkpoint import ADAPTER_FILE, PEFT_PREFIX
from engine.training.export.source import ExportSource
from engine.training.export.tokenizer_files import copy_configuration, copy_tokenizer
from engine.training.model_folder import INDEX_FILE, WEIGHTS_FILE, open_weights, read_config
from engine.training.safetensors_file import (
    NUMPY_TYPES,
    Array,
    SafetensorsFile,
    TensorEntry,
    float32_to_bfloat16,
    write_safetensors,
)

MAXIMUM_SHARD_BYTES = 5 * 1000**3


def merged_bytes(source: ExportSource) -> int:
    """What the folder will take, roughly, in bytes."""
    files = open_weights(source.base)
    return sum(file.entries[name].bytes for name, file in files.items()) + (64 << 20)


def cast(values: NDArray[np.float32], dtype: str) -> Array:
    """Float32 as the safetensors type `dtype`, rounded to nearest."""
    return float32_to_bfloat16(values) if dtype == "BF16" else values.astype(NUMPY_TYPES[dtype])


class MergedTensors:
    """The tensors of the merged model, each made when it is asked for."""

    def __init__(self, source: ExportSource) -> None:
        self._base = open_weights(source.base)
        self._scale = np.float32(source.adapter_scale)
        is_lora = source.manifest.method == "lora"
        self._trained = SafetensorsFile(source.checkpoint / (ADAPTER_FILE if is_lora else WEIGHTS_FILE))
        self._is_lora = is_lora
        parameters = weight_map(build_model(read_config(source.base)))
        # What is no parameter stays behind: a second copy of a tied head would be the untrained one, and loaders that
        # find both untie them.
        self.entries = [
            file.entries[name] for name, file in sorted(self._base.items()) if parameters.parameter_of(name) is not None
        ]
        self._check_every_trained_tensor_has_a_place()

    def read(self, entry: TensorEntry) -> Array:
        """One tensor in the base's type. What was not trained keeps its bytes."""
        if not self._is_lora:
            return self._full(entry)
        module = PEFT_PREFIX + entry.name.removesuffix(".weight")
        name_a, name_b = f"{module}.lora_A.weight", f"{module}.lora_B.weight"
        stored = self._base[entry.name].read(entry.name)
        if name_a not in self._trained.entries:
            return stored
        base = self._base[entry.name].read_float32(entry.name)
        product = self._trained.read_float32(name_b) @ self._trained.read_float32(name_a)
        return cast(base + self._scale * product, entry.dtype)

    def _full(self, entry: TensorEntry) -> Array:
        if entry.name not in self._trained.entries:
            return self._base[entry.name].read(entry.name)
        return cast(self._trained.read_float32(entry.name), entry.dtype)

    def _check_every_trained_tensor_has_a_place(self) -> None:
        for name in self._trained.entries:
            target = name
            if self._is_lora:
                target = name.removeprefix(PEFT_PREFIX).replace(".lora_A.", ".").replace(".lora_B.", ".")
            if target not in self._base:
                raise Bug("trained_tensor_without_place", f"The base model has no {target}, which {name} changes.")


def shards(entries: list[TensorEntry], maximum_bytes: int) -> list[list[TensorEntry]]:
    """Fill shards in order; a tensor larger than the limit gets one of its own."""
    result: list[list[TensorEntry]] = []
    size = 0
    for entry in entries:
        if not result or size + entry.bytes > maximum_bytes:
            result.append([])
            size = 0
        result[-1].append(entry)
        size += entry.bytes
    return result


def write_merged(
    source: ExportSource,
    folder: Path,
    progress: Callable[[int, int], None],
    maximum_shard_bytes: int = MAXIMUM_SHARD_BYTES,
) -> None:
    """Write the whole model folder. `progress(done_bytes, total_bytes)` is called after each tensor is read."""
    tensors = MergedTensors(source)
    total = sum(entry.bytes for entry in tensors.entries)
    done = 0

    def read(entry: TensorEntry) -> Array:
        nonlocal done
        array = tensors.read(entry)
        done += entry.bytes
        progress(done, total)
        return array

    groups = shards(tensors.entries, maximum_shard_bytes)
    weight_map: dict[str, str] = {}
    for number, group in enumerate(groups, start=1):
        name = WEIGHTS_FILE if len(groups) == 1 else f"model-{number:05d}-of-{len(groups):05d}.safetensors"
        write_safetensors(folder / name, group, read, {"format": "pt"})
        weight_map.update({entry.name: name for entry in group})
    if len(groups) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (folder / INDEX_FILE).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    copy_configuration(source, folder)
    copy_tokenizer(source, folder)
