"""LoRA: linear(x, W) becomes linear(x, W) + linear(factor · linear(dropout(x), A), B) for the chosen projections.

The factor multiplies the low-rank product, [N, R], where it costs next to nothing.

The adapters are ordinary parameters with the names that PEFT gives them: `<module>.lora_A.weight` [R, in] and
`<module>.lora_B.weight` [out, R].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from engine.graph.builder import Builder
from engine.graph.dims import LAYER, R
from engine.graph.graph import Graph, Node, Part, Value
from engine.graph.ops.step import STEP_STATE
from engine.graph.rewrites.replay import replay
from engine.protocol.errors import SurroundingsError

WEIGHT = ".weight"
ADAPTER_A, ADAPTER_B = ".lora_A.weight", ".lora_B.weight"
STEP_STATE_INPUT = "input/step_state"

# Purposes of random streams (16 bits): the n-th linear of a block draws its dropout for purpose 256 + n, whichever
# of them carry adapters, so choosing one more target does not change the masks of the others.
DROPOUT_PURPOSE = 256


@dataclass(frozen=True, slots=True)
class LoraOptions:
    """rank R; the product is scaled by alpha / R, or alpha / sqrt(R) where `rank_stabilised`.

    targets: last components of module names, such as "q_proj".
    """

    rank: int
    alpha: float
    targets: tuple[str, ...]
    dropout: float = 0.0
    rank_stabilised: bool = False

    @property
    def factor(self) -> float:
        return self.alpha / (sqrt(self.rank) if self.rank_stabilised else self.rank)


def is_adapter(parameter_name: str) -> bool:
    """Whether a parameter was put there by `attach_lora`."""
    return parameter_name.endswith((ADAPTER_A, ADAPTER_B))


def lora_targets(graph: Graph) -> tuple[str, ...]:
    """The last module names of all linears of a block, in graph order: what `targets` can choose from."""
    parts = [part for node in graph.nodes if node.op == "linear" for part in parts_of(graph, node)]
    return tuple(dict.fromkeys(part.name.removesuffix(WEIGHT).rsplit(".", 1)[-1] for part in parts))


def parts_of(graph: Graph, linear: Node) -> tuple[Part, ...]:
    """The projections that a linear of `graph` makes: one, or where its weight is grouped, one a part."""
    weight = linear.inputs[1]
    return graph.parameter(weight.name).parts or (Part(weight.name, weight.type.shape[0]),)


def check_targets(graph: Graph, options: LoraOptions) -> None:
    """SurroundingsError where there is no target, or one that the block does not have."""
    unknown = set(options.targets) - set(lora_targets(graph))
    if unknown or not options.targets:
        known = ", ".join(lora_targets(graph))
        what = (
            f"projections that this model does not have: {', '.join(sorted(unknown))}" if unknown else "no projection"
        )
        raise SurroundingsError(
            "unknown_lora_target", f"LoRA is to adapt {what}.", f"Choose among {known}.", where="lora_targets"
        )


def dropped(b: Builder, x: Value, probability: float, number: int) -> Value:
    """x with the dropout of the block's linear `number`."""
    step_state = next((value for value in b.inputs if value.name == STEP_STATE_INPUT), None)
    step_state = step_state or b.input(STEP_STATE_INPUT, STEP_STATE.shape, STEP_STATE.dtype)
    return b.dropout(x, step_state, probability=probability, purpose=DROPOUT_PURPOSE + number, layer=LAYER)


def attach_lora(graph: Graph, options: LoraOptions, *, training: bool = True) -> Graph:
    """`graph` with adapters on the targets, without dropout where not `training`.

    SurroundingsError where there is no target, or one that the block does not have.
    """
    check_targets(graph, options)
    sites = {node: number for number, node in enumerate(n for n in graph.nodes if n.op == "linear")}
    dropout = options.dropout if training else 0.0

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node not in sites or _module(node).rsplit(".", 1)[-1] not in options.targets:
            return None
        x, weight = inputs
        module = weight.name.removesuffix(WEIGHT)
        rows, columns = weight.type.shape
        (base,) = b.node("linear", inputs, node.attributes, (f"{module}.base",))
        seen = dropped(b, x, dropout, sites[node]) if dropout else x
        low = b.linear(seen, b.weight(module + ADAPTER_A, [R, columns], dtype=weight.type.dtype))
        high = b.linear(b.scale(low, options.factor), b.weight(module + ADAPTER_B, [rows, R], dtype=weight.type.dtype))
        return b.node("add", (base, high), {}, (node.outputs[0].name,))

    return replay(graph, visit)


def _module(linear: Node) -> str:
    return linear.inputs[1].name.removesuffix(WEIGHT)
