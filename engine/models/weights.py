"""The weight map: which tensor of a checkpoint is which parameter, both ways.

Our parameters carry the canonical Hugging Face names and unfused shapes, so for these architectures the map is the
identity; what it adds is the check, and the tensors of a checkpoint that are known to be no parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.graph.model_graphs import ModelGraphs
from engine.protocol.errors import SurroundingsError

Shapes = Mapping[str, tuple[int, ...]]

HEAD_WEIGHT = "lm_head.weight"
IGNORED = (".rotary_emb.inv_freq",)  # buffers that old files carry


@dataclass(frozen=True, slots=True)
class WeightMap:
    """parameters: canonical name → shape, in the order of use. tied: the head has no tensor of its own."""

    parameters: Shapes
    tied: bool

    def parameter_of(self, tensor: str) -> str | None:
        """The parameter that a tensor of a checkpoint fills, or None for one that is known to be none."""
        if tensor.endswith(IGNORED) or (self.tied and tensor == HEAD_WEIGHT):
            return None
        return tensor

    def tensor_of(self, parameter: str) -> str:
        """The name under which a parameter is written to a checkpoint (KeyError for one that does not exist)."""
        if parameter not in self.parameters:
            raise KeyError(parameter)
        return parameter

    def check(self, found: Shapes) -> None:
        """SurroundingsError where the tensors of a checkpoint are not exactly this model's parameters."""
        named = {self.parameter_of(tensor): shape for tensor, shape in found.items()}
        named.pop(None, None)
        for name, shape in self.parameters.items():
            if name not in named:
                raise _damaged(f"The weight files hold no tensor '{name}'.", name)
            if named[name] != shape:
                raise _damaged(f"Tensor '{name}' has shape {list(named[name])}, but {list(shape)} is expected.", name)
        for extra in named:
            if extra is not None and extra not in self.parameters:
                raise _damaged(f"The weight files hold a tensor '{extra}' that this architecture does not have.", extra)


def weight_map(model: ModelGraphs) -> WeightMap:
    """The map of a model as it was built (before adapters)."""
    shapes = {name: parameter.value.type.evaluate(model.dims) for name, parameter in model.parameters()}
    return WeightMap(shapes, tied=HEAD_WEIGHT not in shapes)


def _damaged(message: str, name: str) -> SurroundingsError:
    return SurroundingsError(
        "weights_mismatch", message, "Download the model again, or choose another revision.", where=name
    )
