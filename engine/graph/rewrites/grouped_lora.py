"""LoRA on packed projections: one product with all A of a group, each B's product added to its columns, in place.

    y = linear(x, W);  y[:, columns of p] += factor · (x · Aₚᵀ) · Bₚᵀ   for each adapted projection p of the group

The A of a group are stacked, [n·R, in], and so are the B, by their rows. Names, dropout's purposes and everything else
are those of `attach_lora`. With dropout each projection sees another x, so nothing is stacked: its own product with A,
and only the columns are shared. The factor is applied within the products with B.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.builder import Builder
from engine.graph.dims import R, Size, size
from engine.graph.graph import Graph, Node, Parameter, Value
from engine.graph.rewrites.lora import (
    ADAPTER_A,
    ADAPTER_B,
    WEIGHT,
    LoraOptions,
    check_targets,
    dropped,
    parts_of,
)
from engine.graph.rewrites.pack import stacked
from engine.graph.rewrites.replay import replay
from engine.graph.types import TensorType


@dataclass(frozen=True, slots=True)
class _Site:
    """An adapted projection: its module, its columns in the output, the number of its linear in the block."""

    module: str
    start: Size
    width: Size
    number: int


def attach_grouped_lora(graph: Graph, options: LoraOptions, *, training: bool = True) -> Graph:
    """A packed `graph` with adapters on the targets, without dropout where not `training`.

    SurroundingsError where there is no target, or one that the block does not have.
    """
    check_targets(graph, options)
    sites = _sites(graph, options)

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if not sites.get(node):
            return None
        x, weight = inputs
        (y,) = b.node("linear", inputs, node.attributes, (f"{weight.name.removesuffix(WEIGHT)}.base",))
        for segments in [[site] for site in sites[node]] if options.dropout else [sites[node]]:
            seen = x
            if options.dropout and training:
                seen = dropped(b, x, options.dropout, segments[0].number)
            y = _adapted(b, y, seen, weight, segments, options.factor)
        return (y,)

    return replay(graph, visit)


def _sites(graph: Graph, options: LoraOptions) -> dict[Node, list[_Site]]:
    found: dict[Node, list[_Site]] = {}
    number = 0
    for node in graph.nodes:
        if node.op != "linear":
            continue
        start, found[node] = size(0), []
        for part in parts_of(graph, node):
            module = part.name.removesuffix(WEIGHT)
            if module.rsplit(".", 1)[-1] in options.targets:
                found[node].append(_Site(module, start, part.rows, number))
            start = start + part.rows
            number += 1
    return found


def _adapted(b: Builder, y: Value, x: Value, weight: Value, segments: list[_Site], factor: float) -> Value:
    columns, dtype = weight.type.shape[1], weight.type.dtype
    group = weight.name.removesuffix(WEIGHT)

    def adapter(module: str, kind: str, shape: tuple[Size, ...]) -> Parameter:
        return Parameter(Value(module + kind, TensorType(shape, dtype)))

    down = stacked(b, group + ADAPTER_A, [adapter(each.module, ADAPTER_A, (R, columns)) for each in segments])
    up = stacked(b, group + ADAPTER_B, [adapter(each.module, ADAPTER_B, (each.width, R)) for each in segments])
    starts, widths = tuple(each.start for each in segments), tuple(each.width for each in segments)
    low = b.linear(x, down)
    return b.one("linear_segments", y, low, up, starts=starts, widths=widths, rank=R, factor=factor)
