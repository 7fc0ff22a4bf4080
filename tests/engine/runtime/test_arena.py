from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.graph.lifetimes import lifetimes
from engine.graph.schedule import Instruction, Program, Schedule, Storage, Tensor
from engine.graph.types import DType
from engine.planner.layout import lay_out
from engine.protocol.errors import EngineError
from engine.runtime.arena import Arena
from engine.runtime.liveness import verify_placement
from tests.helpers.small_schedules import chain


def placed(schedule: Schedule) -> tuple[dict[str, int], int]:
    layout = lay_out(schedule)
    return dict(layout.offsets), layout.arena_bytes


def spans_of(schedule: Schedule) -> dict[str, tuple[int, int]]:
    return {each.tensor: (each.first, each.last) for each in lifetimes(schedule, "go")}


def test_addresses_are_the_plans_offsets_in_one_buffer_of_exactly_the_planned_size() -> None:
    schedule = chain()
    offsets, arena_bytes = placed(schedule)
    arena = Arena(schedule, offsets, arena_bytes)
    assert arena.bytes == arena_bytes
    for name, tensor in schedule.tensors.items():
        assert arena.address(name) - arena.base == offsets[tensor.root]
        assert tuple(arena.view(name).shape) == tensor.shape
    assert arena.address("flat") == arena.address("d")


def test_transients_share_memory_once_they_are_dead() -> None:
    offsets, _ = placed(chain())
    assert len({offsets[name] for name in "abcd"}) == 2
    assert spans_of(chain()) == {"a": (0, 1), "b": (1, 2), "c": (2, 3), "d": (3, 4)}


def test_perturbing_any_one_offset_is_caught_or_harmless() -> None:
    """Every tensor is moved onto every other: refused exactly when both are alive at once, by both names."""
    schedule = chain()
    offsets, arena_bytes = placed(schedule)
    alive = spans_of(schedule)
    refused = 0
    for name in offsets:
        for other in offsets.keys() - {name}:
            first, last = alive.get(name, (0, 9))
            from_, to = alive.get(other, (0, 9))
            moved = {**offsets, name: offsets[other] + 4}  # four bytes on: no tensor is so small
            spans_meet = first <= to and from_ <= last
            try:
                verify_placement(schedule, moved, arena_bytes)
            except EngineError as error:
                assert name in str(error)
                refused += 1
            else:
                assert not spans_meet
    assert refused > len(offsets)


def test_an_unplaced_tensor_and_one_outside_are_named() -> None:
    schedule = chain()
    offsets, arena_bytes = placed(schedule)
    with pytest.raises(EngineError, match="'w' has no place"):
        verify_placement(schedule, {name: at for name, at in offsets.items() if name != "w"}, arena_bytes)
    with pytest.raises(EngineError, match="outside the arena"):
        verify_placement(schedule, offsets, arena_bytes - 256)


def test_poison_is_not_a_number_in_every_float_type() -> None:
    schedule = chain()
    arena = Arena(schedule, *placed(schedule), poison=True)
    assert arena.view("a").isnan().all()
    arena.view("a").zero_()
    arena.poison("a")
    assert arena.view("a").isnan().all() and arena.view("a").view(torch.bfloat16).isnan().all()


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Random chains: each instruction reads earlier tensors of any age and writes a new one of a random size."""
    sizes = draw(st.lists(st.integers(1, 2000), min_size=1, max_size=24))
    tensors = {f"t{i}": Tensor(f"t{i}", (n,), DType.F32, Storage.TRANSIENT) for i, n in enumerate(sizes)}
    tensors["w"] = Tensor("w", (draw(st.integers(1, 500)),), DType.F32, Storage.FROZEN)
    instructions = []
    for i in range(len(sizes)):
        reads = draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set()
        instructions.append(Instruction("any", ("w", *(f"t{r}" for r in sorted(reads))), (f"t{i}",)))
    return Schedule(tensors, {"go": Program("go", tuple(instructions))}, ())


@settings(max_examples=60, deadline=None)
@given(schedules())
def test_no_two_live_tensors_overlap(schedule: Schedule) -> None:
    """The planner's placement passes the runtime's check, and so does a direct count over every pair."""
    offsets, arena_bytes = placed(schedule)
    verify_placement(schedule, offsets, arena_bytes)
    spans = spans_of(schedule) | {"w": (0, len(schedule.tensors))}
    for a, (a0, a1) in spans.items():
        for b, (b0, b1) in spans.items():
            if a < b and a0 <= b1 and b0 <= a1:
                ends = [offsets[n] + schedule.tensors[n].bytes for n in (a, b)]
                assert ends[0] <= offsets[b] or ends[1] <= offsets[a]
