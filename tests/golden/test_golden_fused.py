"""The fused schedule is the same run: the same bits where the arithmetic is the same, the same masks, the same files.

Where it is not the same arithmetic: the gradient that a group of projections hands down is one sum over all its
columns instead of two or three sums added up; the stacked products with LoRA's A are another shape of product, which
the library may add up in another order; LoRA's factor multiplies the product with B instead of its operand (the same
only for powers of two). Everything else is equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.graph.errors import GraphError
from engine.graph.ops.step import Metric
from engine.graph.options import Recompute
from engine.graph.schedule import Schedule
from engine.graph.types import DType
from engine.graph.verify_schedule import verify_schedule
from engine.runtime.executor import ReferenceExecutor
from engine.training.checkpoint import TensorFile
from engine.training.parameters import OPTIMIZER_FILE, load_moments, load_trained, trained_files
from engine.training.safetensors_file import write_safetensors
from tests.helpers import golden_cases
from tests.helpers.golden_cases import Array, Case
from tests.helpers.golden_engine import Engine
from tests.helpers.golden_oracle import document_logits, expected, initial_weights, oracle_model

FULL, LORA = Case("qwen3", "full", "ragged"), Case("llama-untied", "lora", "ragged")
NAMES = ["llama-tied", "gqa-4-to-1", "biases", "window", "qwen3"]


def pair(case: Case, recompute: Recompute = Recompute.OFF) -> tuple[Engine, Engine]:
    """(plain, fused) from the same weights."""
    weights = initial_weights(case)
    return Engine(case, weights, recompute), Engine(replace(case, fused=True), weights, recompute)


def differing(ours: dict[str, Array], theirs: dict[str, Array]) -> set[str]:
    assert ours.keys() == theirs.keys()
    return {name for name, array in theirs.items() if not np.array_equal(ours[name], array)}


@pytest.mark.parametrize("name", NAMES)
def test_forward_bits_and_gradients_above_the_first_group_on_the_way_down(name: str) -> None:
    plain, fused = pair(Case(name, "full", "ragged"))
    np.testing.assert_array_equal(fused.logits(), plain.logits())
    last = f"layers.{plain.case.config['num_hidden_layers'] - 1}.mlp"
    changed = differing(fused.gradients(), plain.gradients())
    assert not {each for each in changed if last in each or each in ("model.norm.weight", "lm_head.weight")}
    assert fused.step(0)[Metric.LOSS] == plain.step(0)[Metric.LOSS]


@pytest.mark.parametrize("name", NAMES)
def test_lora_bits_where_nothing_is_stacked_and_the_factor_is_a_power_of_two(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden_cases, "ALPHA", 2.0 * golden_cases.RANK)
    plain, fused = pair(Case(name, "lora", "ragged", dropout=0.2))  # dropout: the A are not stacked
    np.testing.assert_array_equal(fused.logits(), plain.logits())
    assert fused.step(0)[Metric.LOSS] == plain.step(0)[Metric.LOSS]  # with the same masks


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("case", [LORA, FULL], ids=["lora", "full"])
def test_recompute_changes_no_bit_and_needs_less_memory(case: Case, dropout: float) -> None:
    case = replace(case, dropout=dropout, fused=True)
    weights = initial_weights(replace(case, fused=False))
    saved, recomputed = (Engine(case, weights, recompute) for recompute in (Recompute.OFF, Recompute.ON))
    assert recomputed.layout.transient_bytes < saved.layout.transient_bytes
    assert [saved.step(n) for n in range(5)] == [recomputed.step(n) for n in range(5)]
    assert not differing(saved.weights(), recomputed.weights())


@pytest.mark.parametrize(
    "targets",
    [("q_proj", "v_proj"), ("k_proj",), ("up_proj", "o_proj"), ("q_proj", "k_proj", "gate_proj", "down_proj")],
)
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_any_subset_of_targets_trains_alike(
    targets: tuple[str, ...], dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden_cases, "TARGETS", targets)
    weights = initial_weights(LORA)
    plain, fused = (Engine(replace(LORA, dropout=dropout, fused=each), weights) for each in (False, True))
    ours, theirs = fused.gradients(), plain.gradients()
    assert ours.keys() == theirs.keys() and len(ours) == 4 * len(targets)
    for name, exact in theirs.items():
        assert np.linalg.norm(ours[name] - exact) <= 1e-5 * np.linalg.norm(exact), name
    for number in range(5):
        assert fused.step(number)[Metric.LOSS] == pytest.approx(plain.step(number)[Metric.LOSS], rel=1e-5)


@pytest.mark.parametrize("case", [LORA, FULL, Case("biases", "full", "ragged")], ids=["lora", "qwen3", "biases"])
def test_generation_gives_the_logits_of_the_whole_text(case: Case) -> None:
    case = replace(case, layout="single")
    (theirs,) = document_logits(oracle_model(case)[0], case.micro_batches[0])
    engine = Engine(replace(case, fused=True), initial_weights(case))
    tokens = case.micro_batches[0].documents[0].ids
    np.testing.assert_allclose(engine.generate_logits(tokens, prompt=9), theirs.detach().numpy()[8:], atol=1e-4)


@pytest.mark.parametrize("case", [LORA, FULL], ids=["lora", "full"])
def test_half_precision_follows_single_precision(case: Case) -> None:
    """As the plain schedule does, and within the same bound of it (tests/golden/test_golden_invariants.py)."""
    half = Engine(replace(case, precision=DType.BF16, fused=True), initial_weights(case))
    found = [half.step(number)[Metric.LOSS] for number in range(10)]
    np.testing.assert_allclose(found, expected(case).losses[:10], atol=0.04)


def save(engine: Engine, folder: Path) -> None:
    file: TensorFile
    for file in trained_files(engine.executor, engine.schedule, engine.case.method):
        write_safetensors(folder / file.name, file.entries, file.read, {})


@pytest.mark.parametrize("saved_fused", [False, True])
@pytest.mark.parametrize("case", [LORA, FULL, replace(FULL, precision=DType.BF16)], ids=["lora", "full", "half"])
def test_a_checkpoint_of_one_schedule_resumes_in_the_other(case: Case, saved_fused: bool, tmp_path: Path) -> None:
    """Weights, masters and moments under canonical names, bit for bit; and the next step follows."""
    source, target = pair(case) if not saved_fused else pair(case)[::-1]
    for number in range(3):
        source.step(number)
    save(source, tmp_path)
    load_trained(target.executor, target.schedule, tmp_path, case.method)
    load_moments(target.executor, target.schedule, tmp_path)
    target.executor.write("state/optimizer_step", np.array([3]))
    assert not differing(target.weights(), source.weights())
    for slots in source.schedule.parameters:
        for kept in (slots.master, slots.first_moment, slots.second_moment):
            if kept is not None:
                np.testing.assert_array_equal(target.executor.read(kept), source.executor.read(kept), err_msg=kept)
    assert (tmp_path / OPTIMIZER_FILE).stat().st_size > 1000
    tolerance = 1e-5 if case.precision is DType.F32 else 1e-2
    assert target.step(3)[Metric.LOSS] == pytest.approx(source.step(3)[Metric.LOSS], rel=tolerance)


def shifts(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """Each part of layer 1's grouped weights moved by one row, towards where there is room."""
    for slots in schedule.parameters:
        tensor = schedule.tensors[slots.weight]
        if tensor.alias_of is None or "layers.1." not in slots.name:
            continue
        rows = -1 if tensor.alias_offset else 1
        moved = replace(tensor, alias_offset=tensor.alias_offset + rows * (tensor.bytes // tensor.shape[0]))
        yield slots.name, replace(schedule, tensors={**schedule.tensors, tensor.name: moved})


@pytest.mark.parametrize("case", [LORA, FULL], ids=["lora", "full"])
def test_a_part_one_row_off_is_refused_and_would_change_the_logits(case: Case) -> None:
    engine = Engine(replace(case, fused=True), initial_weights(case))
    right = engine.logits()
    broken = list(shifts(engine.schedule))
    assert len(broken) == (15 if case.method == "lora" else 5)
    for name, schedule in broken:
        with pytest.raises(GraphError, match=r"cannot be an alias|begins at byte"):
            verify_schedule(schedule)
        wrong = Engine(replace(case, fused=True), initial_weights(case))
        wrong.executor.close()
        wrong.executor = ReferenceExecutor(schedule, wrong.layout.offsets, wrong.layout.arena_bytes, threads=1)
        for slots in schedule.parameters:
            wrong.executor.write(slots.weight, initial_weights(case)[slots.name])
        assert np.abs(wrong.logits() - right).max() > 1e-4, name
