"""Each class of broken schedule is refused: types, overwriting, order across streams, memory taken too early."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.graph.errors import GraphError
from engine.graph.schedule import Instruction, Program, Schedule, Storage, Tensor
from engine.graph.streams import with_waits
from engine.graph.types import DType
from engine.graph.verify_schedule import verify_schedule
from tests.helpers.schedules import LORA, first_fit, tiny_schedule


def with_program(schedule: Schedule, program: Program) -> Schedule:
    return replace(schedule, programs={**schedule.programs, program.name: program})


def changed(schedule: Schedule, program: str, index: int, instruction: Instruction) -> Schedule:
    instructions = list(schedule.programs[program].instructions)
    instructions[index] = instruction
    return with_program(schedule, Program(program, tuple(instructions)))


def find(schedule: Schedule, program: str, op: str) -> tuple[int, Instruction]:
    return next(each for each in enumerate(schedule.programs[program].instructions) if each[1].op == op)


@pytest.fixture(scope="module")
def schedule() -> Schedule:
    return tiny_schedule(lora=LORA)


@pytest.fixture(scope="module")
def streamed(schedule: Schedule) -> Schedule:
    """The training program with its instructions dealt to three streams, and the waits that this makes necessary."""
    dealer = random.Random(0)
    program = schedule.programs["train_micro"]
    dealt = Program("train_micro", tuple(replace(each, stream=dealer.randrange(3)) for each in program.instructions))
    return replace(schedule, programs={"train_micro": with_waits(schedule, dealt)})


def test_what_is_built_is_legal_in_an_arena(schedule: Schedule) -> None:
    verify_schedule(schedule)
    verify_schedule(schedule, first_fit(schedule))


def test_wrong_type_and_unknown_tensor(schedule: Schedule) -> None:
    index, rope = find(schedule, "train_micro", "rope")
    broken = changed(schedule, "train_micro", index, replace(rope, outputs=rope.inputs[:1]))
    with pytest.raises(GraphError, match=rf"train_micro\[{index}\] rope"):
        verify_schedule(broken)
    broken = changed(schedule, "train_micro", index, replace(rope, inputs=("nowhere", rope.inputs[1])))
    with pytest.raises(GraphError, match=rf"train_micro\[{index}\] rope .*'nowhere' does not exist"):
        verify_schedule(broken)
    index, linear = find(schedule, "train_micro", "linear")
    broken = changed(schedule, "train_micro", index, replace(linear, inputs=(linear.inputs[0], "input/limits")))
    with pytest.raises(GraphError, match=rf"train_micro\[{index}\] linear .*operand 'weight' has shape \[4\]"):
        verify_schedule(broken)


def test_overwriting_without_permission(schedule: Schedule) -> None:
    index, norm = find(schedule, "train_micro", "rms_norm")
    broken = changed(schedule, "train_micro", index, replace(norm, outputs=(norm.inputs[0], norm.outputs[1])))
    with pytest.raises(GraphError, match=r"rms_norm .*may not overwrite its operand 'train_micro/embed"):
        verify_schedule(broken)
    index, accumulate = find(schedule, "train_micro", "accumulate")
    aside = {**schedule.tensors, "aside": replace(schedule.tensors[accumulate.outputs[0]], name="aside")}
    broken = changed(replace(schedule, tensors=aside), "train_micro", index, replace(accumulate, outputs=("aside",)))
    with pytest.raises(GraphError, match=r"accumulate 'aside': must overwrite 'gradient/"):
        verify_schedule(broken)


def test_transient_tensors_stay_in_their_program(schedule: Schedule) -> None:
    _, norm = find(schedule, "train_micro", "rms_norm")
    evaluate = schedule.programs["evaluate"]
    broken = with_program(schedule, Program("evaluate", (norm, *evaluate.instructions)))
    with pytest.raises(GraphError, match=r"belongs to program 'train_micro'"):
        verify_schedule(broken)


def test_bad_alias_and_missing_workspace(schedule: Schedule) -> None:
    bad = Tensor("bad", (3,), DType.F32, Storage.TRANSIENT, alias_of="input/ids")
    with pytest.raises(GraphError, match="'bad' cannot be an alias of 'input/ids'"):
        verify_schedule(replace(schedule, tensors={**schedule.tensors, "bad": bad}))
    index, head = find(schedule, "train_micro", "head_loss")
    with pytest.raises(GraphError, match=r"head_loss .*workspace of 0 bytes, but needs"):
        verify_schedule(changed(schedule, "train_micro", index, replace(head, workspace=None)))


def test_read_before_write(schedule: Schedule) -> None:
    program = schedule.programs["train_micro"]
    broken = with_program(schedule, Program("train_micro", program.instructions[1:]))
    with pytest.raises(GraphError, match=r"train_micro\[0\] rms_norm .*before it is written"):
        verify_schedule(broken)


def test_computed_waits_are_enough_and_each_is_needed(streamed: Schedule) -> None:
    verify_schedule(streamed)
    program = streamed.programs["train_micro"]
    waits = [(index, wait) for index, each in enumerate(program.instructions) for wait in each.waits]
    assert len(waits) > 20
    for index, wait in waits:
        instruction = program.instructions[index]
        without = replace(instruction, waits=tuple(each for each in instruction.waits if each != wait))
        with pytest.raises(GraphError, match=rf"train_micro\[{index}\].* must wait for train_micro\["):
            verify_schedule(changed(streamed, "train_micro", index, without))


def test_reuse_of_memory_across_streams_needs_a_wait(streamed: Schedule) -> None:
    offsets = first_fit(streamed)
    with pytest.raises(GraphError, match="must wait for"):
        verify_schedule(streamed, offsets)
    safe = with_program(streamed, with_waits(streamed, streamed.programs["train_micro"], offsets))
    verify_schedule(safe, offsets)
    count = sum(len(each.waits) for each in streamed.programs["train_micro"].instructions)
    assert sum(len(each.waits) for each in safe.programs["train_micro"].instructions) > count


def test_a_wait_for_the_future_is_refused(schedule: Schedule) -> None:
    index, norm = find(schedule, "train_micro", "rms_norm")
    with pytest.raises(GraphError, match="waits for instruction 99, which is not earlier"):
        verify_schedule(changed(schedule, "train_micro", index, replace(norm, waits=(99,))))


def test_one_wrong_offset_is_caught(schedule: Schedule) -> None:
    """Any transient tensor moved onto one that is live at the same time destroys it, or is destroyed."""
    offsets = first_fit(schedule)
    _, norm = find(schedule, "train_micro", "rms_norm")
    saved = norm.outputs[0]
    master = "second_moment/model.layers.1.mlp.down_proj.lora_A.weight"  # which this program does not touch
    for victim in (master, "train_micro/embed/embedding.1", "input/targets"):
        with pytest.raises(GraphError, match=r"whose memory|overlap in memory"):
            verify_schedule(schedule, {**offsets, saved: offsets[victim]})
    del offsets[saved]
    with pytest.raises(GraphError, match="has no place in the arena"):
        verify_schedule(schedule, offsets)
