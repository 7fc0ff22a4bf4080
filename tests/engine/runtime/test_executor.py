from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.graph.schedule import Instruction, Program, Schedule, Storage
from engine.graph.types import DType
from engine.planner.layout import lay_out
from engine.protocol.errors import EngineError
from engine.runtime.executor import ReferenceExecutor
from engine.runtime.trace import first_difference
from tests.helpers.small_schedules import SHAPE, chain, tensor

X = np.arange(15, dtype=np.float32).reshape(SHAPE)
W = np.full(SHAPE, 0.5, dtype=np.float32)


def executor_of(schedule: Schedule, *, poison: bool = False) -> ReferenceExecutor:
    layout = lay_out(schedule)
    executor = ReferenceExecutor(schedule, layout.offsets, layout.arena_bytes, threads=1, poison=poison)
    executor.write("x", X)
    executor.write("w", W)
    return executor


@pytest.mark.parametrize("poison", [False, True])
def test_a_program_runs_over_its_views_again_and_again(poison: bool) -> None:
    executor = executor_of(chain(), poison=poison)
    for _ in range(3):
        executor.run("go")
        np.testing.assert_array_equal(executor.read("y"), 2 * (2 * (X + W) + W))


def test_freed_regions_are_poisoned_so_a_late_read_shows() -> None:
    executor = executor_of(chain(), poison=True)
    executor.run("go")
    assert np.isnan(executor.read("d")).all() and not np.isnan(executor.read("y")).any()


def test_a_schedule_that_reads_before_writing_gives_not_a_number() -> None:
    schedule = chain()
    first, second, *rest = schedule.programs["go"].instructions
    broken = Program("go", (replace(first, outputs=("b",)), replace(second, inputs=("a",)), *rest))
    executor = executor_of(replace(schedule, programs={"go": broken}), poison=True)
    executor.run("go")
    assert np.isnan(executor.read("y")).all()


def test_an_unknown_operation_is_named() -> None:
    schedule = chain()
    program = Program("go", (Instruction("entangle", ("x",), ("a",)),))
    with pytest.raises(EngineError, match="entangle"):
        executor_of(replace(schedule, programs={"go": program}))


def test_wrong_shapes_names_and_programs_are_refused() -> None:
    executor = executor_of(chain())
    with pytest.raises(EngineError, match=r"shape \[3, 5\]"):
        executor.write("x", X[:2])
    with pytest.raises(EngineError, match="no tensor 'z'"):
        executor.read("z")
    with pytest.raises(EngineError, match="no program 'train'"):
        executor.run("train")
    executor.close()
    for use in (lambda: executor.run("go"), lambda: executor.read("x"), lambda: executor.write("x", X)):
        with pytest.raises(EngineError, match="closed"):
            use()


def test_half_precision_is_written_as_numbers_or_as_bits_and_read_exactly() -> None:
    schedule = chain()
    tensors = {**schedule.tensors, "half": tensor("half", Storage.INPUT, DType.BF16)}
    executor = executor_of(replace(schedule, tensors=tensors))
    numbers = np.full(SHAPE, 1.0 + 2.0**-8 + 2.0**-16, dtype=np.float32)  # just above the middle of two neighbours
    executor.write("half", numbers)
    assert (executor.read("half") == 1.0 + 2.0**-7).all() and executor.read("half").dtype == np.float32
    executor.write("half", np.full(SHAPE, 0xC040, dtype=np.uint16))
    assert (executor.read("half") == -3.0).all()


def test_traces_name_the_first_value_that_differs() -> None:
    same, other = executor_of(chain()), executor_of(chain())
    assert first_difference(same.trace("go"), other.trace("go")) is None
    changed = W.copy()
    changed[1, 2] += 0.25
    other.write("w", changed)
    difference = first_difference(same.trace("go"), other.trace("go"))
    assert difference is not None
    assert (difference.index, difference.tensor, difference.position) == (0, "a", (1, 2))
    assert "instruction 0 (add): a[1, 2] is 7.5 and 7.75" in str(difference)
    assert first_difference(same.trace("go"), other.trace("go"), relative_tolerance=0.5) is None


def test_a_not_a_number_on_one_side_is_a_difference() -> None:
    same, other = executor_of(chain()), executor_of(chain())
    spoilt = X.copy()
    spoilt[0, 0] = np.nan
    other.write("x", spoilt)
    difference = first_difference(same.trace("go"), other.trace("go"), relative_tolerance=1.0)
    assert difference is not None and difference.position == (0, 0)
