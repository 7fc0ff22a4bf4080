"""What an architecture hands to the graph floor: its graphs, written once a kind, and the numbers for its letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.graph.graph import Graph, Parameter

HIDDEN = "x"  # the input of blocks and head that is handed on from the graph before
EMBED, HEAD = "embed", "head"


@dataclass(frozen=True, slots=True)
class Stage:
    """One graph at its place in the model: the embedding, one layer, or the head. `prefix`: of its parameters."""

    label: str
    graph: Graph
    layer: int | None = None
    prefix: str = ""

    def canonical(self, parameter: str) -> str:
        """The checkpoint's name of one of the graph's parameters."""
        return self.prefix + parameter


@dataclass(frozen=True, slots=True)
class ModelGraphs:
    """embed → one block a layer, of the kind that `pattern` names → head.

    dims: letter → number, as far as the architecture decides. layer_prefix: what comes before the names of a block's
    parameters, with `{layer}` in it; embed and head carry full names, and where both name the same one, it is tied.
    Each graph has one output, but the head, which has (loss_sum, weight_sum).
    """

    architecture: str
    dims: Mapping[str, int]
    embed: Graph
    blocks: Mapping[str, Graph]
    pattern: tuple[str, ...]
    head: Graph
    layer_prefix: str

    def stages(self) -> tuple[Stage, ...]:
        """All places in forward order."""
        layers = (
            Stage(f"layers.{layer}", self.blocks[kind], layer, self.layer_prefix.format(layer=layer))
            for layer, kind in enumerate(self.pattern)
        )
        return Stage(EMBED, self.embed), *layers, Stage(HEAD, self.head)

    def parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Canonical name and parameter, in the order of use, a tied one once."""
        seen: set[str] = set()
        for stage in self.stages():
            for parameter in stage.graph.parameters:
                name = stage.canonical(parameter.name)
                if name not in seen:
                    seen.add(name)
                    yield name, parameter
