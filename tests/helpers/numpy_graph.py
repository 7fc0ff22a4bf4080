"""Run a graph in float64 with numpy: a second, plain reading of every op's formula, for finite differences.

Symbolic sizes are bound by the caller; random numbers of dropout are a fixed mask per (purpose, layer).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.graph.graph import Graph, Value
from engine.graph.unroll import concrete
from tests.helpers import numpy_formulas as plain
from tests.helpers import numpy_packed as packed
from tests.helpers.numpy_formulas import Array

Run = Callable[..., tuple[Array, ...]]


def run_graph(graph: Graph, given: Mapping[str, Array], dims: Mapping[str, int]) -> dict[str, Array]:
    """All values of the graph by name, from its inputs and parameters by name."""
    values: dict[str, Array] = {}
    for value in (*graph.inputs, *(parameter.value for parameter in graph.parameters)):
        values[value.name] = given[value.name]
        assert given[value.name].shape == value.type.evaluate(dims), value
    for node in graph.nodes:
        operands = [values[value.name] for value in node.inputs]
        results = OPS[node.op](*operands, **concrete(node.attributes, dims))
        for value, result in zip(node.outputs, results, strict=True):
            assert result.shape == value.type.evaluate(dims), (node.name, result.shape)
            values[value.name] = result
    return values


def random_inputs(graph: Graph, dims: Mapping[str, int], seed: int) -> dict[str, Array]:
    """Normal numbers for float inputs and parameters; integer inputs must be given by the caller."""
    generator = np.random.default_rng(seed)
    floats: list[Value] = [value for value in graph.inputs if value.type.dtype.is_float]
    floats += [parameter.value for parameter in graph.parameters]
    return {value.name: generator.standard_normal(value.type.evaluate(dims)) for value in floats}


OPS: Mapping[str, Run] = {
    "embedding": plain.embedding,
    "embedding_backward": plain.embedding_backward,
    "rms_norm": plain.rms_norm,
    "rms_norm_backward": plain.rms_norm_backward,
    "rms_norm_weight_backward": plain.rms_norm_weight_backward,
    "linear": lambda x, weight: (x @ weight.T,),
    "linear_input_backward": lambda dy, weight: (dy @ weight,),
    "linear_weight_backward": lambda dy, x: (dy.T @ x,),
    "bias_add": lambda x, bias: (x + bias,),
    "bias_backward": lambda dy: (dy.sum(axis=0),),
    "reshape": lambda x, shape: (x.reshape(shape),),
    "rope": plain.rope,
    "attention": plain.attention,
    "attention_backward": plain.attention_backward,
    "add": lambda x, y: (x + y,),
    "multiply": lambda x, y: (x * y,),
    "scale": lambda x, factor: (x * factor,),
    "cast": lambda x, dtype: (x,),
    "swiglu": lambda gate, up: (gate * plain.sigmoid(gate) * up,),
    "swiglu_backward": plain.swiglu_backward,
    "dropout": plain.dropout,
    "head_loss": plain.head_loss,
    "head_loss_forward": plain.head_loss_forward,
    "rope_table": packed.rope_table,
    "rope_packed": packed.rope_packed,
    "qk_norm_rope": packed.qk_norm_rope,
    "qk_norm_rope_backward": lambda *operands, **how: packed.qk_norm_rope_weight_backward(*operands, **how)[:1],
    "qk_norm_rope_weight_backward": packed.qk_norm_rope_weight_backward,
    "attention_packed": packed.attention_packed,
    "attention_packed_backward": packed.attention_packed_backward,
    "linear_segments": packed.linear_segments,
    "linear_segments_input_backward": packed.linear_segments_input_backward,
    "linear_segments_weight_backward": packed.linear_segments_weight_backward,
    "swiglu_packed": lambda gate_up, width: (
        gate_up[:, :width] * plain.sigmoid(gate_up[:, :width]) * gate_up[:, width:],
    ),
    "swiglu_packed_backward": lambda dy, gate_up, width: (
        packed.packed(*plain.swiglu_backward(dy, gate_up[:, :width], gate_up[:, width:])),
    ),
    "accumulate": lambda accumulator, gradient, step_state: (
        gradient if step_state[2] == 0 else accumulator + gradient,
    ),
}
