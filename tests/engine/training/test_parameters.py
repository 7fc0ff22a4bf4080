from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.graph.schedule import Schedule, Storage
from engine.planner.machine import MachineSpec
from engine.planner.make import make_plan, schedule_of
from engine.training.executor import AnyArray
from engine.training.model_folder import read_config
from engine.training.parameters import initialise_adapters, stored_name
from engine.training.serving import serving_schedule
from tests.helpers.tiny_checkpoints import tiny_recipe
from tests.helpers.tiny_models import write_tiny_llama


class Notebook:
    """An executor that only remembers what was written."""

    def __init__(self) -> None:
        self.written: dict[str, AnyArray] = {}

    def write(self, name: str, array: AnyArray) -> None:
        self.written[name] = array

    def read(self, name: str) -> AnyArray:
        return self.written[name]

    def run(self, program: str) -> None:
        raise AssertionError(program)

    def close(self) -> None:
        pass


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_tiny_llama(tmp_path / "model")


def _schedule(model: Path, **settings: object) -> Schedule:
    recipe = tiny_recipe(model, **settings)
    config = read_config(model)
    plan = make_plan(recipe, config, None, MachineSpec(cores=1, memory_bytes=1 << 33, other_bytes=0))
    return schedule_of(plan, recipe, config)


def _adapters(model: Path, seed: int, **settings: object) -> dict[str, AnyArray]:
    notebook = Notebook()
    initialise_adapters(notebook, _schedule(model, **settings), seed)
    return notebook.written


def test_new_adapters_change_nothing_yet_and_lie_within_kaimings_bound(model: Path) -> None:
    written = _adapters(model, 1, lora_rank=4)
    for name, values in written.items():
        if "lora_B" in name:
            assert not values.any()
        else:
            bound = 1 / np.sqrt(values.shape[1])
            assert np.abs(values).max() <= bound
            assert np.abs(values).max() > 0.8 * bound
            assert abs(values.mean()) < 0.2 * bound


def test_one_more_target_or_another_order_does_not_change_the_others(model: Path) -> None:
    few = _adapters(model, 1, lora_rank=4, lora_targets=("v_proj",))
    many = _adapters(model, 1, lora_rank=4, lora_targets=("q_proj", "v_proj", "down_proj"))
    assert few.keys() < many.keys()
    assert all(np.array_equal(few[name], many[name]) for name in few)


def test_another_seed_gives_other_adapters_and_no_two_are_alike(model: Path) -> None:
    first, second = _adapters(model, 1), _adapters(model, 2)
    drawn = [name for name in first if "lora_A" in name]
    assert not any(np.array_equal(first[name], second[name]) for name in drawn)
    assert len({first[name].tobytes() for name in drawn}) == len(drawn)


def test_checkpoints_use_the_names_of_peft_and_of_hugging_face() -> None:
    adapter = "model.layers.0.self_attn.q_proj.lora_A.weight"
    assert stored_name(adapter) == f"base_model.model.{adapter}"
    assert stored_name("model.norm.weight") == "model.norm.weight"


def test_serving_holds_nothing_of_training(model: Path) -> None:
    schedule = _schedule(model, method="full")
    served = serving_schedule(schedule, ("evaluate",))
    assert served.programs.keys() == {"evaluate"}
    assert not any(name.startswith(("gradient/", "first_moment/", "second_moment/")) for name in served.tensors)
    assert not any(slots.is_trainable for slots in served.parameters)
    weights = sum(schedule.tensors[slots.weight].bytes for slots in schedule.parameters)
    assert sum(tensor.bytes for tensor in served.of_storage(Storage.FROZEN)) == weights
    assert not any(
        list(served.of_storage(each)) for each in (Storage.TRAINABLE, Storage.MASTER, Storage.OPTIMIZER_STATE)
    )
    assert [slots.name for slots in served.parameters] == [slots.name for slots in schedule.parameters]
