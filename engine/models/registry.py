"""Which models can be trained, and what is known about one from its config.json alone. Cheap to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any  # Any: config.json is plain JSON

import msgspec

from engine.graph.model_graphs import ModelGraphs
from engine.graph.rewrites.lora import lora_targets
from engine.graph.types import DType
from engine.models.config import DecoderConfig, Family, read_config
from engine.models.llama import FAMILIES, build_llama
from engine.models.qwen3 import QWEN3, build_qwen3
from engine.models.refusals import refuse
from engine.models.weights import weight_map

Build = Callable[[DecoderConfig], ModelGraphs]

ARCHITECTURES: Mapping[str, tuple[Family, Build]] = {
    **{family.model_type: (family, build_llama) for family in FAMILIES},
    QWEN3.model_type: (QWEN3, build_qwen3),
}


class ModelDescription(msgspec.Struct, frozen=True):
    """A model in numbers. weight_bytes: by dtype name, what all parameters take (a tied one counts once)."""

    architecture: str
    model_type: str
    parameters: int
    layers: int
    hidden_size: int
    intermediate_size: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_length: int
    tied_embeddings: bool
    lora_targets: tuple[str, ...]
    weight_bytes: dict[str, int]


def supported_architectures() -> tuple[str, ...]:
    """Class names of transformers that can be trained."""
    return tuple(family.architecture for family, _ in ARCHITECTURES.values())


def build_model(config: Mapping[str, Any]) -> ModelGraphs:  # Any: JSON
    """The graphs of the model that config.json describes; SurroundingsError says why it cannot be trained."""
    family, build = _family(config)
    return build(read_config(config, family))


def describe(config: Mapping[str, Any]) -> ModelDescription:  # Any: JSON
    """What config.json tells about a model; SurroundingsError says why it cannot be trained."""
    family, build = _family(config)
    read = read_config(config, family)
    model = build(read)
    parameters = sum(prod(shape) for shape in weight_map(model).parameters.values())
    targets = dict.fromkeys(target for block in model.blocks.values() for target in lora_targets(block))
    return ModelDescription(
        architecture=family.architecture,
        model_type=family.model_type,
        parameters=parameters,
        layers=read.layers,
        hidden_size=read.hidden_size,
        intermediate_size=read.intermediate_size,
        heads=read.heads,
        kv_heads=read.kv_heads,
        head_dim=read.head_dim,
        vocabulary=read.vocabulary,
        context_length=read.context_length,
        tied_embeddings=read.tied,
        lora_targets=tuple(targets),
        weight_bytes={dtype.value: parameters * dtype.bytes for dtype in (DType.F32, DType.BF16)},
    )


def _family(config: Mapping[str, Any]) -> tuple[Family, Build]:  # Any: JSON
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise refuse("model_type", f"is {model_type!r}; the architectures that can be trained are {known}")
    return ARCHITECTURES[model_type]
