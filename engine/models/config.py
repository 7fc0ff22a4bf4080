"""config.json, read strictly: what changes the mathematics is either understood or refused by name.

A key that the transformers class of the model type does not read cannot change what the model computes, so it is left
alone. Each key that it does read is here: as a size, as a switch, or among those that must be neutral.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any  # Any: config.json is plain JSON

from engine.models.refusals import refuse
from engine.models.rope import inverse_frequencies

Json = Mapping[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True)
class Family:
    """What sets one model type apart: its class in transformers and the values of keys that its files leave out."""

    model_type: str
    architecture: str
    defaults: Mapping[str, Any]  # Any: JSON
    qkv_bias: bool | None = None  # None: as `attention_bias` says
    output_bias: bool | None = None
    has_mlp_bias: bool = False
    every_layer_slides: bool = False  # Mistral: `sliding_window` alone decides, for all layers


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """A pre-norm decoder with grouped-query attention and SwiGLU. windows: one a layer, None for full attention."""

    architecture: str
    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_length: int
    rms_norm_eps: float
    tied: bool
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    windows: tuple[int | None, ...]
    inverse_frequencies: tuple[float, ...]

    def dims(self) -> dict[str, int]:
        """Numbers for the letters that the architecture decides."""
        return {
            "D": self.hidden_size,
            "F": self.intermediate_size,
            "H": self.heads,
            "K": self.kv_heads,
            "HD": self.head_dim,
            "V": self.vocabulary,
            "L": self.layers,
        }


def read_config(config: Json, family: Family) -> DecoderConfig:
    """The config of a model of this family; SurroundingsError names the first key that cannot be honoured."""
    known = {**family.defaults, **{key: value for key, value in config.items() if value is not None}}
    _check_class(config, family)
    _check_neutral(known)
    hidden, heads = _size(known, "hidden_size"), _size(known, "num_attention_heads")
    kv_heads = _size({"num_key_value_heads": heads, **known}, "num_key_value_heads")
    if heads % kv_heads:
        raise refuse("num_key_value_heads", f"is {kv_heads}, which does not divide the {heads} attention heads")
    head_dim = _size({"head_dim": hidden // heads, **known}, "head_dim")
    layers = _size(known, "num_hidden_layers")
    attention_bias = _switch(known, "attention_bias")
    return DecoderConfig(
        architecture=family.architecture,
        hidden_size=hidden,
        intermediate_size=_size(known, "intermediate_size"),
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=_size(known, "vocab_size"),
        context_length=_size(known, "max_position_embeddings"),
        rms_norm_eps=float(known["rms_norm_eps"]),
        tied=_switch(known, "tie_word_embeddings"),
        qkv_bias=attention_bias if family.qkv_bias is None else family.qkv_bias,
        output_bias=attention_bias if family.output_bias is None else family.output_bias,
        mlp_bias=family.has_mlp_bias and _switch(known, "mlp_bias"),
        windows=_windows(config, known, family, layers),
        inverse_frequencies=inverse_frequencies(config, head_dim),
    )


def _check_class(config: Json, family: Family) -> None:
    classes = config.get("architectures") or [family.architecture]
    if classes != [family.architecture]:
        raise refuse("architectures", f"is {classes}, but only {family.architecture} can be trained")


def _check_neutral(known: Json) -> None:
    if known.get("quantization_config"):
        method = known["quantization_config"].get("quant_method", "unknown")
        raise refuse("quantization_config", f"says that the weights are quantized ({method})", "model_quantized")
    if known.get("auto_map"):
        raise refuse("auto_map", "asks to run code from the repository, which is never done", "model_remote_code")
    if known["hidden_act"] != "silu":
        raise refuse("hidden_act", f"is '{known['hidden_act']}', but only 'silu' is built")
    if known.get("attention_dropout"):
        raise refuse("attention_dropout", f"is {known['attention_dropout']}, but dropout inside attention is not built")


def _windows(config: Json, known: Json, family: Family, layers: int) -> tuple[int | None, ...]:
    window = known.get("sliding_window")
    if family.every_layer_slides:
        explicit_none = "sliding_window" in config and config["sliding_window"] is None
        return (None if explicit_none else _size(known, "sliding_window"),) * layers
    if not _switch(known, "use_sliding_window") or window is None:
        kinds = known.get("layer_types") or ["full_attention"] * layers
        if set(kinds) != {"full_attention"}:
            raise refuse("layer_types", f"names {sorted(set(kinds))}, but no sliding window is in use")
        return (None,) * layers
    first = known["max_window_layers"]
    default = ["sliding_attention" if layer >= first else "full_attention" for layer in range(layers)]
    kinds = known.get("layer_types") or default
    if len(kinds) != layers or not set(kinds) <= {"sliding_attention", "full_attention"}:
        raise refuse("layer_types", f"must name full_attention or sliding_attention for each of {layers} layers")
    size = _size(known, "sliding_window")
    return tuple(size if kind == "sliding_attention" else None for kind in kinds)


def _size(known: Json, key: str) -> int:
    value = known.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise refuse(key, "is missing" if value is None else f"is {value!r}, but must be a positive whole number")
    return value


def _switch(known: Json, key: str) -> bool:
    value = known.get(key, False)
    if not isinstance(value, bool):
        raise refuse(key, f"is {value!r}, but must be true or false")
    return value
