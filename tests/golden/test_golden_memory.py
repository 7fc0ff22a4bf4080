"""The plan is the allocation: offsets are addresses, the peak is the plan, nothing overlaps, nothing grows."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.graph.lifetimes import lifetimes
from engine.graph.options import Recompute
from engine.graph.programs import build_schedule
from engine.graph.rewrites.lora import LoraOptions
from engine.graph.schedule import Schedule
from engine.models.registry import build_model
from engine.planner.layout import Layout, lay_out
from engine.planner.machine import MachineSpec
from engine.planner.make import make_plan, schedule_of
from engine.planner.packing import aligned
from engine.protocol.errors import EngineError
from engine.protocol.plan import decode_plan, encode_plan
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, resolve
from engine.runtime.executor import ReferenceExecutor
from engine.runtime.liveness import verify_placement
from tests.helpers.golden_cases import CONFIGS, Case
from tests.helpers.golden_engine import Engine
from tests.helpers.golden_oracle import initial_weights

CASE = Case("qwen3", "lora", "ragged")


def golden_schedule(fused: bool) -> Schedule:
    return build_schedule(build_model(CASE.config), replace(CASE, fused=fused).options(Recompute.OFF))


@pytest.mark.parametrize("fused", [False, True])
def test_the_planned_offsets_are_the_addresses_of_every_operand(fused: bool) -> None:
    engine = Engine(replace(CASE, fused=fused), initial_weights(CASE))
    arena = engine.executor.arena
    assert arena.bytes == engine.layout.arena_bytes
    operands = {name for p in engine.schedule.programs.values() for i in p.instructions for name in i.touched()}
    assert len(operands) > (200 if fused else 300)
    operands |= {slots.weight for slots in engine.schedule.parameters}
    for name in operands:
        tensor = engine.schedule.tensors[name]
        assert arena.address(name) == arena.base + engine.layout.offsets[tensor.root] + tensor.alias_offset
        assert arena.base <= arena.address(name) <= arena.base + arena.bytes - tensor.bytes


def test_the_offsets_in_plan_json_are_the_addresses_and_changing_one_is_refused(tmp_path: Path) -> None:
    config = CONFIGS["llama-tied"]
    recipe = resolve(
        Recipe(
            model=ModelRef(source="folder", path="/m"),
            datasets=(DatasetRef("rows.jsonl"),),
            sequence_length=64,
            sample_prompts=("Hello",),
        )
    )
    machine = MachineSpec(cores=1, memory_bytes=2**34, other_bytes=2**30, disk_free_bytes=2**40)
    path = tmp_path / "plan.json"
    path.write_bytes(encode_plan(make_plan(recipe, config, None, machine)))
    plan = decode_plan(path.read_bytes())
    schedule, place = schedule_of(plan, recipe, config), plan.placement
    arena = ReferenceExecutor(schedule, place.offsets, place.arena_bytes, threads=1).arena
    assert arena.bytes == place.arena_bytes
    for name, offset in place.offsets.items():
        assert arena.address(name) - arena.base == offset
    first = schedule.programs["train_micro"].instructions[0]
    damaged = {**place.offsets, first.outputs[0]: place.offsets[first.inputs[1]]}
    with pytest.raises(EngineError, match="share memory"):
        ReferenceExecutor(schedule, damaged, place.arena_bytes, threads=1)


def highest_byte(schedule: Schedule, layout: Layout) -> int:
    touched = {
        schedule.tensors[n].root for p in schedule.programs.values() for i in p.instructions for n in i.touched()
    }
    return max(layout.offsets[name] + aligned(schedule.tensors[name].bytes) for name in touched)


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(sorted(CONFIGS)),
    rows=st.integers(1, 3),
    length=st.integers(1, 40),
    chunk=st.integers(1, 64),
    rank=st.sampled_from([0, 1, 5]),
    recompute=st.sampled_from(Recompute),
    generation=st.integers(0, 9),
    fused=st.booleans(),
)
def test_any_schedule_is_laid_out_without_overlap_and_its_peak_is_the_plan(
    name: str, rows: int, length: int, chunk: int, rank: int, recompute: Recompute, generation: int, fused: bool
) -> None:
    options = replace(
        CASE.options(recompute),
        micro_batch_size=rows,
        sequence_length=length,
        chunk_tokens=chunk,
        lora=LoraOptions(rank, 2.0, ("q_proj", "down_proj"), dropout=0.1) if rank else None,
        generation_context=generation,
        prefill_chunk=(generation + 1) // 2,
        fused=fused,
    )
    schedule = build_schedule(build_model(CONFIGS[name]), options)
    layout = lay_out(schedule)
    verify_placement(schedule, layout.offsets, layout.arena_bytes)
    assert highest_byte(schedule, layout) == layout.arena_bytes
    for program in layout.programs.values():
        assert program.lower_bound_bytes <= program.total_bytes


@pytest.mark.parametrize("fused", [False, True])
def test_perturbing_any_one_offset_of_the_training_step_is_caught(fused: bool) -> None:
    """Fifty transients, each moved to where another one lies that is alive beside it: refused, by name."""
    schedule = golden_schedule(fused)
    layout = lay_out(schedule)
    spans = {each.tensor: (each.first, each.last) for each in lifetimes(schedule, "train_micro")}
    generator = np.random.default_rng(0)
    for name in generator.choice(sorted(spans), 50, replace=False):
        first, last = spans[name]
        beside = [other for other, (a, b) in spans.items() if other != name and a <= last and first <= b]
        moved = {**layout.offsets, name: layout.offsets[str(generator.choice(beside))]}
        with pytest.raises(EngineError, match="share memory") as raised:
            ReferenceExecutor(schedule, moved, layout.arena_bytes, threads=1)
        assert name in str(raised.value)


def test_resident_memory_is_flat_over_two_hundred_steps() -> None:
    engine = Engine(CASE, initial_weights(CASE))
    process = psutil.Process()

    def resident_after(steps: range) -> int:
        for step in steps:
            engine.step(step)
        gc.collect()
        return process.memory_info().rss

    before = resident_after(range(20))
    grown = resident_after(range(20, 220)) - before
    # The allocator may round up once more; a leak of one activation (4 KiB) a step would be 800 KiB and more.
    assert grown < 768 * 1024, f"{grown:,} bytes more after two hundred steps"
