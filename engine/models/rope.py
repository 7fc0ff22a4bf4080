"""Inverse frequencies of rotary embeddings, from what config.json says.

Computed in single precision step by step, as transformers does, so that both agree to the last bit or two.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any  # Any: config.json is plain JSON

from engine.models.refusals import refuse

REASONS = {
    "yarn": "its attention scaling and frequency ramp are not built yet",
    "dynamic": "its frequencies change with the length of the text, which a fixed schedule cannot follow",
    "longrope": "its frequencies change with the length of the text, which a fixed schedule cannot follow",
    "proportional": "it rotates only a part of each head, which is not built yet",
}

Json = Mapping[str, Any]  # Any: JSON


def inverse_frequencies(config: Json, head_dim: int) -> tuple[float, ...]:
    """head_dim / 2 numbers; refuses a rope type that is not built, naming it."""
    parameters = _parameters(config)
    kind = str(parameters["rope_type"])
    base = _plain(float(parameters["rope_theta"]), head_dim)
    if kind == "default":
        return base
    if kind == "linear":
        factor = _number(parameters, "factor")
        return tuple(_single(each / factor) for each in base)
    if kind == "llama3":
        return _llama3(parameters, base)
    reason = REASONS.get(kind, "this rope type is not known")
    raise refuse("rope_scaling", f"rope type '{kind}' is not supported: {reason}")


def _parameters(config: Json) -> dict[str, Any]:  # Any: JSON
    """`rope_parameters` (transformers 5) or `rope_scaling` beside `rope_theta` (4 and older), as one."""
    raw = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if not isinstance(raw, Mapping):
        raise refuse("rope_parameters", f"is {raw!r}, but must be an object")
    found = dict(raw)
    if any(isinstance(value, Mapping) for value in found.values()):
        raise refuse("rope_parameters", "holds other values for each type of layer, which is not built yet")
    found.setdefault("rope_type", found.get("type", "default"))
    found.setdefault("rope_theta", config.get("rope_theta", 10000.0))
    partial = found.get("partial_rotary_factor", config.get("partial_rotary_factor"))
    if partial not in (None, 1, 1.0):
        raise refuse("partial_rotary_factor", f"is {partial}; rotating only a part of each head is not built yet")
    return found


def _plain(theta: float, head_dim: int) -> tuple[float, ...]:
    return tuple(_single(1.0 / _single(theta ** _single(i / head_dim))) for i in range(0, head_dim, 2))


def _llama3(parameters: Json, base: tuple[float, ...]) -> tuple[float, ...]:
    """Long wavelengths are divided by the factor, short ones are kept, those between are blended."""
    factor, low, high, original = (
        _number(parameters, name)
        for name in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    )

    def scaled(frequency: float) -> float:
        wavelength = _single(2 * math.pi / frequency)
        if wavelength < original / high:
            return frequency
        if wavelength > original / low:
            return _single(frequency / factor)
        smooth = _single((original / wavelength - low) / (high - low))
        return _single((1 - smooth) * frequency / factor + smooth * frequency)

    return tuple(scaled(each) for each in base)


def _number(parameters: Json, name: str) -> float:
    found = parameters.get(name)
    if not isinstance(found, (int, float)) or isinstance(found, bool) or found <= 0:
        raise refuse(f"rope_parameters.{name}", f"is {found!r}, but must be a positive number")
    return float(found)


def _single(value: float) -> float:
    """Rounded to single precision."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return float(rounded)
