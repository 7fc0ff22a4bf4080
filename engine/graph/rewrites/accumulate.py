"""Weight gradients are added to their accumulators right where they are made, so that they are live for one call."""

from __future__ import annotations

from collections.abc import Collection

from engine.graph.autodiff import Derivative
from engine.graph.builder import Builder
from engine.graph.graph import Graph, Value
from engine.graph.ops.step import STEP_STATE
from engine.graph.rewrites.lora import STEP_STATE_INPUT
from engine.graph.types import DType

ACCUMULATOR = "accumulator/"


def with_accumulation(derivative: Derivative, parameters: Collection[str]) -> Graph:
    """The backward graph with an input `accumulator/<name>` for each of `parameters`, updated in place.

    Its outputs are the remaining gradients. Adds the input `input/step_state` where it was not there.
    """
    backward = derivative.backward
    builder = Builder(backward.name, prefix="accumulated/")
    builder.inputs.extend(backward.inputs)
    builder.parameters.extend(backward.parameters)
    step_state = Value(STEP_STATE_INPUT, STEP_STATE)
    if parameters and step_state not in builder.inputs:
        builder.inputs.append(step_state)
    waiting: dict[Value, list[str]] = {}
    for name in parameters:
        waiting.setdefault(derivative.gradients[name], []).append(name)

    def accumulate(value: Value) -> None:
        for name in waiting.pop(value, ()):
            accumulator = builder.input(ACCUMULATOR + name, value.type.shape, DType.F32)
            builder.emit("accumulate", accumulator, value, step_state)

    for value in backward.inputs:
        accumulate(value)
    for node in backward.nodes:
        builder.nodes.append(node)
        for value in node.outputs:
            accumulate(value)
    kept = [gradient for name, gradient in derivative.gradients.items() if name not in parameters]
    return builder.finish(*kept)
