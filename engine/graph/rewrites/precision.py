"""Another dtype for weights and activations: statistics, losses and weight gradients stay fp32 by their ops' rules."""

from __future__ import annotations

from dataclasses import replace

from engine.graph.graph import INPUT, Graph, Value
from engine.graph.rewrites.replay import replay
from engine.graph.types import DType


def with_precision(graph: Graph, dtype: DType) -> Graph:
    """`graph` with fp32 parameters and handed-over activations in `dtype`; `input/…` tensors keep their types."""

    def retype(value: Value) -> Value:
        if value.type.dtype is not DType.F32 or value.name.startswith(INPUT):
            return value
        return Value(value.name, replace(value.type, dtype=dtype))

    return graph if dtype is DType.F32 else replay(graph, retype=retype)
