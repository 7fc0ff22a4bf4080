"""Recompute: instead of being saved, a value's producers run again at the start of the backward graph.

The clones are the same ops on the same operands with the same attributes (dropout's key is among them), so the values
are the same to the bit. Which values to keep is a choice of placement; `keep` is any set, the presets are shortcuts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from engine.graph.autodiff import Derivative, assemble
from engine.graph.graph import Graph, Node, Value

RECOMPUTED = "recompute/"


def keep_inputs(forward: Graph) -> frozenset[Value]:
    """The preset "on": only what a block is given."""
    return frozenset(forward.inputs)


def recompute(derivative: Derivative, keep: Collection[Value]) -> Derivative:
    """`derivative` saving only values of `keep` and inputs of the forward graph; the rest is computed again."""
    forward, backward = derivative.forward, derivative.backward
    available = {*keep, *forward.inputs, *(parameter.value for parameter in forward.parameters)}
    dropped = [value for value in derivative.saved if value not in available]
    if not dropped:
        return derivative
    again = _producers(forward, dropped, available)
    clones: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in again:
        inputs = tuple(clones.get(value, value) for value in node.inputs)
        for value in node.outputs:
            if value not in available:
                clones[value] = Value(RECOMPUTED + value.name, value.type)
        outputs = tuple(clones.get(value, Value(RECOMPUTED + value.name, value.type)) for value in node.outputs)
        nodes.append(replace(node, inputs=inputs, outputs=outputs))
    for node in backward.nodes:
        nodes.append(replace(node, inputs=tuple(clones.get(value, value) for value in node.inputs)))
    gradients = {name: clones.get(value, value) for name, value in derivative.gradients.items()}
    incoming = backward.inputs[: len(backward.inputs) - len(derivative.saved)]
    return assemble(forward, nodes, incoming, gradients)


def _producers(forward: Graph, values: Collection[Value], available: Collection[Value]) -> list[Node]:
    """The nodes needed to make `values` again out of `available`, in running order."""
    needed = set(values)
    again: list[Node] = []
    for node in reversed(forward.nodes):
        if any(value in needed for value in node.outputs):
            again.append(node)
            needed.update(value for value in node.inputs if value not in available)
    again.reverse()
    return again
