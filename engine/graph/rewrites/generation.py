"""Attention over documents becomes attention over a cache: one sequence that grows, in place."""

from __future__ import annotations

from engine.graph.builder import Builder
from engine.graph.dims import C, Size, SizeLike, size
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Node, Value
from engine.graph.rewrites.replay import replay
from engine.graph.types import DType

CACHED = {"attention": "cached_attention", "attention_packed": "cached_attention_packed"}
DOCUMENTS_ONLY = ("causal", "longest")
CACHES = ("k_cache", "v_cache")  # inputs of the rewritten block, [C, K, HD] each, updated in place


def with_cache(graph: Graph) -> Graph:
    """`graph` with its attention reading and updating the inputs `k_cache`, `v_cache` at `input/cache_length`."""
    if sum(node.op in CACHED for node in graph.nodes) != 1:
        raise GraphError("graph.no_cache", f"graph '{graph.name}' does not have exactly one attention to cache")

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.op not in CACHED:
            return None
        *heads, _ = inputs
        k_cache, v_cache = (b.input(name, _cache_shape(node), heads[0].type.dtype) for name in CACHES)
        length = b.input("input/cache_length", [size(1)], DType.I32)
        attributes = {name: value for name, value in node.attributes.items() if name not in DOCUMENTS_ONLY}
        o, _, _ = b.emit(CACHED[node.op], *heads, k_cache, v_cache, length, **attributes)
        return (o,)

    return replay(graph, visit)


def _cache_shape(node: Node) -> list[SizeLike]:
    """[C, K, HD]"""
    if node.op == "attention":
        _, kv_heads, head_dim = node.inputs[1].type.shape
        return [C, kv_heads, head_dim]
    packed = (node.attributes["kv_heads"], node.attributes["head_dim"])
    return [C, *(each for each in packed if isinstance(each, (int, Size)))]  # attention_packed's rule has seen to it
