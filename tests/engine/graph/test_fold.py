"""Additions are folded into their neighbours exactly where nobody can tell."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.graph.fold import fold_additions
from engine.graph.schedule import Instruction, Program, Schedule, Storage, Tensor
from engine.graph.types import DType
from engine.graph.verify_schedule import verify_schedule

WIDE, WEIGHT, MATRIX, RSTD, STATE = (6, 8), (8,), (8, 8), (6,), (4,)
EPS: Mapping[str, float] = {"eps": 1e-5}


def schedule_of(*instructions: Instruction, state: tuple[str, ...] = ()) -> Schedule:
    """Types go by names: w weights, m matrices, r rstd, dw and acc gradients of weights, else [6, 8]."""
    tensors: dict[str, Tensor] = {}
    made = {name for each in instructions for name in each.outputs}
    for each in instructions:
        for name in each.touched():
            shape = {"w": WEIGHT, "m": MATRIX, "r": RSTD, "dw": WEIGHT, "acc": WEIGHT}.get(name.rstrip("0123456789"))
            kept = name not in made or name in state or name.startswith("acc")
            storage = Storage.STATE if kept else Storage.TRANSIENT
            tensors[name] = Tensor(name, shape or WIDE, DType.F32, storage)
    if "step" in tensors:
        tensors["step"] = Tensor("step", STATE, DType.I64, Storage.INPUT)
    schedule = Schedule(tensors, {"go": Program("go", instructions)}, ())
    verify_schedule(schedule)
    return schedule


def folded(*instructions: Instruction, state: tuple[str, ...] = ()) -> list[Instruction]:
    schedule = schedule_of(*instructions, state=state)
    tensors = dict(schedule.tensors)
    program = fold_additions(schedule.programs["go"], tensors)
    verify_schedule(Schedule(tensors, {"go": program}, ()))
    touched = {name for each in program.instructions for name in each.touched()}
    assert tensors.keys() == touched, "no tensor is left that nobody touches"
    return list(program.instructions)


def call(op: str, inputs: str, outputs: str, **attributes: float) -> Instruction:
    return Instruction(op, tuple(inputs.split()), tuple(outputs.split()), attributes)


ADD = call("add", "x y", "z")
NORM = call("rms_norm", "z w", "n r", **EPS)
USE = call("multiply", "n z", "out")


def test_a_sum_and_its_norm_are_one_call() -> None:
    fused = call("add_rms_norm", "x y w", "z n r", **EPS)
    assert folded(ADD, NORM, USE, state=("out",)) == [fused, USE]


@pytest.mark.parametrize(
    "between",
    [call("scale", "z", "other", factor=2.0), call("accumulate", "y e step", "y")],
    ids=["the sum is read before the norm", "an operand of the sum is overwritten"],
)
def test_a_norm_stays_apart_from_a_sum_that_is_not_just_before_it(between: Instruction) -> None:
    instructions = (ADD, between, NORM, USE)
    assert folded(*instructions, state=("out", "other", "y")) == list(instructions)


def test_a_sum_that_outlives_the_program_stays() -> None:
    assert folded(ADD, NORM, USE, state=("out", "z")) == [ADD, NORM, USE]


BACK = call("rms_norm_backward", "dy x w r", "d")
WEIGHT_BACK = call("rms_norm_weight_backward", "dy x r", "dw")
ACCUMULATE = call("accumulate", "acc dw step", "acc")


@pytest.mark.parametrize("order", ["u d", "d u"])
def test_the_residuals_gradient_is_added_within_the_norms(order: str) -> None:
    total = call("add", order, "out")
    assert folded(BACK, total, state=("out",)) == [call("rms_norm_residual_backward", "dy x w r u", "out")]
    expected = [call("rms_norm_residual_weight_backward", "dy x w r u", "out dw"), ACCUMULATE]
    assert folded(BACK, WEIGHT_BACK, ACCUMULATE, total, state=("out",)) == expected


def test_what_others_read_is_still_made() -> None:
    total, other = call("add", "u d", "out"), call("scale", "d", "kept", factor=3.0)
    assert folded(BACK, other, total, state=("out", "kept")) == [BACK, other, total]
    square = call("multiply", "dw dw", "dw2")
    fused = call("rms_norm_residual_backward", "dy x w r u", "out")
    found = folded(BACK, WEIGHT_BACK, ACCUMULATE, total, square, state=("out", "dw2"))
    assert found == [WEIGHT_BACK, ACCUMULATE, fused, square], "only the weight's gradient stays apart"


FIRST = call("linear_input_backward", "a m", "p")
SECOND = call("linear_input_backward", "b m2", "q")


@pytest.mark.parametrize("order", ["p q", "q p"])
def test_the_later_product_is_added_to_the_earlier(order: str) -> None:
    total, use = call("add", order, "z"), call("scale", "z", "out", factor=1.0)
    first = call("linear_input_backward", "a m", "z")
    assert folded(FIRST, SECOND, total, use, state=("out",)) == [
        first,
        call("linear_input_backward_add", "z b m2", "z"),
        use,
    ]


def test_three_products_fall_into_one_sum() -> None:
    third = call("linear_input_backward", "c m3", "s")
    chain = (
        FIRST,
        SECOND,
        call("add", "p q", "z"),
        third,
        call("add", "z s", "z2"),
        call("scale", "z2", "out", factor=1.0),
    )
    found = folded(*chain, state=("out",))
    assert [(each.op, each.inputs[0], each.outputs[0]) for each in found[:-1]] == [
        ("linear_input_backward", "a", "z2"),
        ("linear_input_backward_add", "z2", "z2"),
        ("linear_input_backward_add", "z2", "z2"),
    ]


def test_a_product_stays_apart_from_a_sum_that_is_needed_later() -> None:
    total, late = call("add", "p q", "z"), call("multiply", "z p", "out")
    assert folded(FIRST, SECOND, total, late, state=("out",)) == [FIRST, SECOND, total, late]
    overwrite = call("accumulate", "b e step", "b")
    use = call("scale", "z", "out", factor=1.0)
    apart = (FIRST, SECOND, overwrite, total, use)
    assert folded(*apart, state=("out", "b")) == list(apart)
