"""What the planner makes of grouped weights: parts are no memory of their own, and count under the same headings."""

from __future__ import annotations

import pytest

from engine.graph.rewrites.lora import LoraOptions
from engine.graph.types import DType
from engine.planner.layout import lay_out
from engine.planner.machine import MachineSpec
from engine.planner.memory import memory_rows
from engine.planner.packing import ALIGNMENT
from engine.planner.timing import program_cost
from tests.helpers.schedules import tiny_schedule
from tests.helpers.tiny_models import QWEN3

LORA = LoraOptions(rank=4, alpha=8.0, targets=("q_proj", "v_proj", "gate_proj", "up_proj", "o_proj"))
MACHINE = MachineSpec(cores=1, memory_bytes=2**34, other_bytes=2**30, disk_free_bytes=2**40)


@pytest.mark.parametrize("lora", [None, LORA], ids=["full", "lora"])
@pytest.mark.parametrize("precision", [DType.F32, DType.BF16])
def test_categories_are_those_of_the_plain_schedule_but_for_alignment(
    lora: LoraOptions | None, precision: DType
) -> None:
    plain, fused = (tiny_schedule(QWEN3, lora=lora, precision=precision, fused=each) for each in (False, True))
    layouts = lay_out(plain), lay_out(fused)
    tensors = sum(tensor.storage.is_persistent for tensor in plain.tensors.values())
    for ours, theirs in zip(memory_rows(fused, layouts[1], 320), memory_rows(plain, layouts[0], 320), strict=True):
        assert ours.category == theirs.category
        if ours.category != "activations":
            assert 0 <= theirs.host_bytes - ours.host_bytes < ALIGNMENT * tensors, ours.category
    assert layouts[1].transient_bytes <= layouts[0].transient_bytes
    parts = {name for name, tensor in fused.tensors.items() if tensor.alias_of}
    assert parts and not parts & layouts[1].offsets.keys()


def test_fewer_bytes_are_moved_for_the_same_products() -> None:
    plain, fused = (tiny_schedule(QWEN3, lora=LORA, fused=each) for each in (False, True))
    costs = [program_cost(each, each.programs["train_micro"], MACHINE) for each in (plain, fused)]
    assert costs[1].bytes < costs[0].bytes and costs[1].seconds < costs[0].seconds
