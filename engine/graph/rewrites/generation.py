"""Attention over documents becomes attention over a cache: one sequence that grows, in place."""

from __future__ import annotations

from engine.graph.builder import Builder
from engine.graph.dims import C, size
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Node, Value
from engine.graph.rewrites.replay import replay
from engine.graph.types import DType

CACHES = ("k_cache", "v_cache")  # inputs of the rewritten block, [C, K, HD] each, updated in place


def with_cache(graph: Graph) -> Graph:
    """`graph` with its attention reading and updating the inputs `k_cache`, `v_cache` at `input/cache_length`."""
    if sum(node.op == "attention" for node in graph.nodes) != 1:
        raise GraphError("graph.no_cache", f"graph '{graph.name}' does not have exactly one attention to cache")

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.op != "attention":
            return None
        q, k, v, _ = inputs
        _, heads, head_dim = k.type.shape
        k_cache, v_cache = (b.input(name, [C, heads, head_dim], k.type.dtype) for name in CACHES)
        length = b.input("input/cache_length", [size(1)], DType.I32)
        attributes = {name: node.attributes[name] for name in ("window", "scale")}
        o, _, _ = b.emit("cached_attention", q, k, v, k_cache, v_cache, length, **attributes)
        return (o,)

    return replay(graph, visit)
