"""Planning gathers model, data and machine, and says everything that is wrong at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from engine.planner.machine import MachineSpec
from engine.protocol.errors import SurroundingsError
from engine.training.numerics import numerics_record
from studio.app import Studio, open_studio
from studio.recipes import FIELDS, DatasetRef, ModelRef, Recipe, recipe_hash, resolve
from studio.recipes.setting_text import Value
from tests.helpers.tiny_models import write_tiny_llama

SMALL = MachineSpec(cores=1, memory_bytes=1 << 20, other_bytes=0)
ROOMY = MachineSpec(cores=2, memory_bytes=64 << 30, other_bytes=0, disk_free_bytes=10**12)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    studio = open_studio(tmp_path / "home")
    yield studio
    studio.close()


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    model = write_tiny_llama(tmp_path / "model", max_position_embeddings=4096)
    rows = tmp_path / "rows.jsonl"
    with rows.open("w") as file:
        for number in range(40):
            user, assistant = f"What is {number}?", f"The quick brown fox says {number}."
            turns = [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
            file.write(json.dumps({"messages": turns}) + "\n")
    return Recipe(model=ModelRef("folder", path=str(model)), datasets=(DatasetRef(str(rows)),), sequence_length=64)


def test_quick_says_that_data_is_not_measured_and_full_measures_it_once(studio: Studio, recipe: Recipe) -> None:
    quick = studio.planning.quick(recipe)
    assert quick.plan is not None
    assert [problem.code for problem in quick.problems] == ["data_not_measured"]
    assert not quick.can_launch
    full = studio.planning.full(recipe)
    assert full.can_launch, full.problems
    assert full.plan is not None
    assert full.plan.recipe_hash == recipe_hash(full.recipe)
    assert full.statistics is not None
    assert full.statistics.rows_read == 40
    again = studio.planning.quick(recipe)  # what was measured is known from now on
    assert again.can_launch
    assert again.statistics == full.statistics
    changed = studio.planning.quick(msgspec.structs.replace(recipe, sequence_length=32))
    assert [problem.code for problem in changed.problems] == ["data_not_measured"]


def test_all_problems_come_at_once(studio: Studio, recipe: Recipe, tmp_path: Path) -> None:
    nothing = studio.planning.quick(Recipe())
    assert {problem.code for problem in nothing.problems} == {"no_model", "no_dataset"}
    lost = msgspec.structs.replace(recipe, datasets=(DatasetRef(str(tmp_path / "none.jsonl")),))
    planned = studio.planning.full(lost, machine=SMALL)
    places = {problem.where for problem in planned.problems if problem.severity == "error"}
    assert places == {"datasets", "memory"}
    assert "data_not_measured" not in {problem.code for problem in planned.problems}  # that it is missing says more
    unknown = msgspec.structs.replace(recipe, model=ModelRef("folder", path=str(tmp_path / "none")), lora_rank=0)
    planned = studio.planning.full(unknown)
    assert planned.plan is None
    assert {problem.where for problem in planned.problems} == {"model", "lora_rank"}


@pytest.mark.scenario("S23")
def test_too_little_memory_is_refused_before_anything_is_loaded(studio: Studio, recipe: Recipe) -> None:
    planned = studio.planning.full(recipe, machine=SMALL)
    assert not planned.can_launch
    assert planned.plan is not None
    assert planned.plan.verdict == "does_not_fit"
    problem = next(problem for problem in planned.problems if problem.code == "memory_does_not_fit")
    assert problem.arguments["usable"] == SMALL.memory_bytes
    assert sum(row.host_bytes for row in planned.plan.memory) == planned.plan.budgets[0].planned_bytes
    with pytest.raises(SurroundingsError):
        studio.runs.launch(planned.recipe, planned.plan, token="t")


def test_a_model_that_cannot_be_trained_says_why(studio: Studio, recipe: Recipe) -> None:
    assert recipe.model is not None
    config = Path(recipe.model.path) / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "model_type": "mamba"}))
    planned = studio.planning.quick(recipe)
    assert planned.plan is None
    assert [(problem.where, "mamba" in problem.message) for problem in planned.problems] == [("model", True)]


def test_measuring_can_be_cancelled(studio: Studio, recipe: Recipe, tmp_path: Path) -> None:
    rows = Path(recipe.datasets[0].path)
    rows.write_text(rows.read_text() * 5000)
    failures: list[SurroundingsError] = []
    told = threading.Event()

    def measure() -> None:
        try:
            studio.planning.full(recipe, lambda progress: told.set())
        except SurroundingsError as error:
            failures.append(error)

    thread = threading.Thread(target=measure)
    thread.start()
    assert told.wait(30)
    studio.planning.cancel()
    thread.join(10)
    assert [error.code for error in failures] == ["data.cancelled"]


ANOTHER: dict[str, Value] = {
    "seed": 7, "evaluation_fraction": 0.2, "sequence_length": 32, "packing": False, "loss_on": "all",
    "chat_template": "chatml", "method": "full", "precision": "bf16", "lora_rank": 4, "lora_alpha": 5.0,
    "lora_dropout": 0.1, "lora_targets": ("q_proj",), "use_rslora": True, "micro_batch_size": 2,
    "gradient_accumulation_steps": 2, "epochs": 3.0, "maximum_steps": 2, "learning_rate": 1e-3,
    "schedule": "linear", "warmup_ratio": 0.5, "decay_ratio": 0.5, "minimum_learning_rate_ratio": 0.5,
    "weight_decay": 0.1, "adam_beta1": 0.5, "adam_beta2": 0.5, "adam_epsilon": 1e-4, "maximum_grad_norm": 2.0,
    "evaluate_every": 4.0, "sample_prompts": (), "sample_tokens": 5, "checkpoint_every": 4.0, "keep_last": 5,
    "keep_best": 3, "recompute": "blocks", "threads": 3,
}  # fmt: skip
EXCEPTIONS = {
    "name": "a name is for people",
    "keep_last": "which checkpoints stay on disk",
    "keep_best": "which checkpoints stay on disk",
    "optimizer": "it has one choice so far",
}
"""Settings that change neither plan nor numbers, each with its reason."""


@pytest.mark.scenario("S13")
def test_every_setting_changes_the_plan_or_the_numbers(studio: Studio, recipe: Recipe) -> None:
    files = {"model", "datasets", "evaluation_datasets"}
    assert set(ANOTHER) | set(EXCEPTIONS) | files == set(FIELDS)
    recipe = msgspec.structs.replace(recipe, gradient_accumulation_steps=1, sample_prompts=("Say it.",))
    before = consequences(studio, recipe)
    for key, value in ANOTHER.items():
        after = consequences(studio, msgspec.structs.replace(recipe, **{key: value}))
        assert (after == before) == (key in EXCEPTIONS), key
    rows = Path(recipe.datasets[0].path)
    other_rows = rows.with_name("other.jsonl")
    other_rows.write_text(rows.read_text() * 2)
    other_model = write_tiny_llama(rows.with_name("other model"), hidden_size=64)
    others = {
        "datasets": (DatasetRef(str(other_rows)),),
        "evaluation_datasets": (DatasetRef(str(rows)),),
        "model": ModelRef("folder", path=str(other_model)),
    }
    assert set(others) == files
    for key, change in others.items():
        assert consequences(studio, msgspec.structs.replace(recipe, **{key: change})) != before, key


def consequences(studio: Studio, recipe: Recipe) -> tuple[object, ...]:
    """Everything that a setting can change: the plan, and the record of what can change a bit of the result."""
    planned = studio.planning.full(recipe, machine=ROOMY)
    assert planned.plan is not None, planned.problems
    plan = msgspec.structs.replace(planned.plan, recipe_hash="")  # the hash differs by its nature
    return plan, numerics_record(plan.numerics, resolve(planned.recipe))
