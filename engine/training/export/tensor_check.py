"""Are the tensors of an export what checkpoint and base make of them? Recomputed with torch, tensor by tensor.

The logits alone would not tell: a single tensor that is off by 1 % can hide below the rounding of bf16.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from engine.models.registry import build_model
from engine.models.weights import weight_map
from engine.training.checkpoint import ADAPTER_FILE, PEFT_PREFIX
from engine.training.export.reference import Reference
from engine.training.model_folder import WEIGHTS_FILE, open_weights, read_config
from engine.training.safetensors_file import SafetensorsFile

RELATIVE_LIMITS = {"F64": 1e-6, "F32": 1e-6, "BF16": 2.0**-8, "F16": 2.0**-10}
"""By stored type, for ‖found − expected‖ / ‖expected‖. Rounding to nearest changes an element by at most half of these
(bf16: 2⁻⁹, fp16: 2⁻¹¹), and float32 sums in another order by far less than 1e-6 of the norm."""


def tensor_complaints(export: Path, reference: Reference) -> list[str]:
    """A sentence for each tensor that is wrong."""
    pairs = _adapter_pairs if reference.export_format == "peft" else _merged_pairs
    complaints = []
    for name, found, expected, limit in pairs(export, reference):
        if found is None or found.shape != expected.shape:
            complaints.append(f"tensor: {name} is missing or has another shape")
            continue
        error = float(torch.linalg.vector_norm(found - expected)) / max(
            float(torch.linalg.vector_norm(expected)), 1e-30
        )
        if not error <= limit:
            complaints.append(f"tensor: {name} differs by {error:.2%} from what the checkpoint gives")
    return complaints


Pair = tuple[str, torch.Tensor | None, torch.Tensor, float]


def _tensor(file: SafetensorsFile, name: str) -> torch.Tensor:
    return torch.from_numpy(file.read_float32(name).copy())


def _adapter_pairs(export: Path, reference: Reference) -> Iterator[Pair]:
    found = SafetensorsFile(export / ADAPTER_FILE)
    trained = SafetensorsFile(Path(reference.checkpoint) / ADAPTER_FILE)
    for name, entry in trained.entries.items():
        tensor = _tensor(found, name) if name in found.entries else None
        yield name, tensor, _tensor(trained, name), RELATIVE_LIMITS[entry.dtype]


def _merged_pairs(export: Path, reference: Reference) -> Iterator[Pair]:
    base, found = open_weights(Path(reference.base)), open_weights(export)
    parameters = weight_map(build_model(read_config(Path(reference.base))))
    is_lora = reference.method == "lora"
    trained = SafetensorsFile(Path(reference.checkpoint) / (ADAPTER_FILE if is_lora else WEIGHTS_FILE))
    for name, file in base.items():
        if parameters.parameter_of(name) is None:
            continue
        expected = _tensor(file, name)
        module = PEFT_PREFIX + name.removesuffix(".weight")
        if not is_lora and name in trained.entries:
            expected = _tensor(trained, name)
        elif f"{module}.lora_A.weight" in trained.entries:
            low, high = (_tensor(trained, f"{module}.lora_{part}.weight") for part in "AB")
            expected = expected + torch.mm(high, low) * reference.adapter_scale
        tensor = _tensor(found[name], name) if name in found else None
        yield name, tensor, expected, RELATIVE_LIMITS[file.entries[name].dtype]
