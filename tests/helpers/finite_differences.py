"""Check a derivative against central differences in float64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.graph.autodiff import GRADIENT, Derivative, differentiate
from engine.graph.graph import Graph
from engine.graph.verify import verify_graph
from tests.helpers.numpy_graph import run_graph

Arrays = Mapping[str, np.ndarray]
STEP = 1e-6
TOLERANCE = 1e-6  # truncation error STEP² and rounding error 1e-16 / STEP, times the size of third derivatives


def gradients_of(
    derivative: Derivative, given: Arrays, upstream: Arrays, dims: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """The gradients that forward and backward graph give for these inputs and gradients of outputs."""
    verify_graph(derivative.forward)
    verify_graph(derivative.backward)
    values = run_graph(derivative.forward, given, dims)
    arriving = {GRADIENT + name: array for name, array in upstream.items()}
    results = run_graph(derivative.backward, {**values, **arriving}, dims)
    return {name: results[value.name] for name, value in derivative.gradients.items()}


def objective(graph: Graph, given: Arrays, upstream: Arrays, dims: Mapping[str, int], loss: str | None) -> float:
    """Σ upstream · output, plus the loss: what the gradients are the gradients of."""
    values = run_graph(graph, given, dims)
    total = sum(float((values[name] * array).sum()) for name, array in upstream.items())
    return total + (float(values[loss][0]) if loss else 0.0)


def check_gradients(
    graph: Graph,
    wrt: list[str],
    given: Arrays,
    dims: Mapping[str, int],
    *,
    seeds: tuple[str, ...] = (),
    loss: str | None = None,
    seed: int = 0,
) -> Derivative:
    """Each gradient agrees with the slope in three random directions; the derivative, for further questions."""
    generator = np.random.default_rng(seed)
    outputs = {value.name: value for value in graph.outputs}
    upstream = {name: generator.standard_normal(outputs[name].type.evaluate(dims)) for name in seeds}
    derivative = differentiate(graph, wrt, seeds=seeds, loss=loss)
    gradients = gradients_of(derivative, given, upstream, dims)
    for name in wrt:
        assert gradients[name].shape == given[name].shape
        for _ in range(3):
            direction = generator.standard_normal(given[name].shape)
            ahead = objective(graph, {**given, name: given[name] + STEP * direction}, upstream, dims, loss)
            behind = objective(graph, {**given, name: given[name] - STEP * direction}, upstream, dims, loss)
            slope = (ahead - behind) / (2 * STEP)
            found = float((gradients[name] * direction).sum())
            scale = max(1.0, abs(slope), float(np.abs(gradients[name] * direction).sum()))
            assert abs(found - slope) <= TOLERANCE * scale, (name, found, slope)
    return derivative
