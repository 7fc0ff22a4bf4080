"""Golden must be able to turn red: break one rule of differentiation at a time and see that something notices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.graph import autodiff
from engine.graph.builder import Builder
from engine.graph.graph import Node, Value
from engine.graph.options import Recompute
from engine.protocol.errors import EngineError
from tests.helpers.golden_cases import Case
from tests.helpers.golden_engine import Engine
from tests.helpers.golden_oracle import expected, initial_weights

CASES = [
    Case("qwen3", "full", "ragged"),
    Case("llama-untied", "lora", "ragged"),
    Case("qwen3", "full", "ragged", fused=True),
    Case("llama-untied", "lora", "ragged", fused=True),
]
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method}{'-fused' * case.fused}")


def complaints(case: Case) -> list[str]:
    """What is wrong: gradients that differ, instructions whose results nobody reads, or the graph's own refusal."""
    try:
        engine = Engine(case, initial_weights(case), Recompute.OFF)
    except EngineError as error:
        return [error.code]
    gradients, exact = engine.gradients(), expected(replace(case, fused=False)).gradients
    differing = [n for n, g in exact.items() if not np.linalg.norm(gradients[n] - g) <= 1e-4 * np.linalg.norm(g)]
    return differing + [f"in vain: {name}" for name in results_nobody_reads(engine)]


def results_nobody_reads(engine: Engine) -> list[str]:
    """First results of the training program's instructions that are transient and never read."""
    instructions = engine.schedule.programs["train_micro"].instructions
    tensors = engine.schedule.tensors
    read = {tensors[name].root for instruction in instructions for name in instruction.inputs}
    return [
        instruction.outputs[0]
        for instruction in instructions
        if not any(tensors[n].storage.is_persistent or tensors[n].root in read for n in instruction.outputs)
    ]


@EACH_CASE
def test_unbroken_there_is_nothing_to_complain_about(case: Case) -> None:
    assert complaints(case) == []


@EACH_CASE
def test_dropping_any_one_fan_out_accumulation_is_noticed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    original, sites, dropped = autodiff.sum_gradients, 0, -1

    def mutated(builder: Builder, gradients: list[Value]) -> Value | None:
        nonlocal sites
        sites += len(gradients) > 1
        is_dropped = len(gradients) > 1 and sites - 1 == dropped
        return original(builder, gradients[:-1] if is_dropped else gradients)

    monkeypatch.setattr(autodiff, "sum_gradients", mutated)
    assert complaints(case) == []
    found = sites
    # The residual stream in both halves of a block, and the normed input, where several projections read it.
    assert found >= (2 if case.fused and case.method == "full" else 4)
    for site in range(found):
        sites, dropped = 0, site
        assert complaints(case), f"nobody noticed that accumulation {site} of {found} was dropped"


@EACH_CASE
def test_dropping_the_pruning_of_operands_is_noticed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(node: Node, dependent: object) -> tuple[bool, ...]:
        return tuple(value.type.dtype.is_float for value in node.inputs)

    monkeypatch.setattr(autodiff, "wanted_operands", everything)
    # In full fine-tuning everything is wanted but the gradient of the embedding's way down, which never exists.
    assert bool(complaints(case)) == (case.method == "lora")


@EACH_CASE
def test_dropping_the_pruning_of_values_is_noticed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(graph: autodiff.Graph, sources: object) -> set[Value]:
        parameters = {parameter.value for parameter in graph.parameters}
        return parameters | set(graph.inputs) | {value for node in graph.nodes for value in node.outputs}

    monkeypatch.setattr(autodiff, "dependents", everything)
    assert bool(complaints(case)) == (case.method == "lora")


@EACH_CASE
def test_wanting_any_one_operand_too_few_is_noticed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    original, sites, dropped = autodiff.wanted_operands, 0, -1

    def mutated(node: Node, dependent: set[Value]) -> tuple[bool, ...]:
        nonlocal sites
        result = list(original(node, dependent))
        for index, wanted in enumerate(result):
            if wanted and not (node.op == "attention_packed" and index):
                result[index] = sites != dropped
                sites += 1
        if node.op == "attention_packed":  # one gradient for q, k and v, in whichever operands they lie
            result[1] = result[0]
        return tuple(result)

    monkeypatch.setattr(autodiff, "wanted_operands", mutated)
    assert complaints(case) == []
    found = sites
    for site in range(0, found, 3):  # every third, for time
        sites, dropped = 0, site
        assert complaints(case), f"nobody noticed that operand {site} of {found} was forgotten"
