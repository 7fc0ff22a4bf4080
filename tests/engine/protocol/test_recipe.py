from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.errors import EngineError, ProblemsError
from engine.protocol.fields import FIELDS
from engine.protocol.recipe import (
    DatasetRef,
    ModelRef,
    Recipe,
    ResolvedRecipe,
    check,
    from_mapping,
    parse_recipe,
    recipe_hash,
    resolve,
    to_yaml,
    value_or_default,
)

MINIMAL = "model: {source: folder, path: /models/tiny}\ndatasets: [{path: rows.jsonl}]\n"


def minimal(**settings: object) -> Recipe:
    return from_mapping({"model": {"source": "folder", "path": "/m"}, "datasets": [{"path": "r.jsonl"}], **settings})


def test_the_schema_and_the_struct_name_the_same_keys() -> None:
    keys = set(Recipe.__struct_fields__) - {"version"}
    assert keys == set(FIELDS)
    assert set(ResolvedRecipe.__struct_fields__) == set(Recipe.__struct_fields__)


def test_a_minimal_recipe_resolves_to_every_default() -> None:
    resolved = resolve(parse_recipe(MINIMAL))
    empty = {key for key in FIELDS if getattr(resolved, key) is None}
    assert empty == {"maximum_steps", "threads"}
    assert check(resolved) == []


def test_defaults_follow_the_method() -> None:
    assert resolve(minimal(method="lora")).learning_rate == 2e-4
    assert resolve(minimal(method="full")).learning_rate == 1e-5
    assert resolve(minimal(method="full")).weight_decay == 0.01
    assert value_or_default(minimal(), "weight_decay") == 0.0


@pytest.mark.parametrize("text, number", [("1e-4", 1e-4), ("1.5E-3", 1.5e-3), ("2", 2.0), ("+.5", 0.5)])
def test_numbers_are_read_as_people_write_them(text: str, number: float) -> None:
    assert parse_recipe(MINIMAL + f"learning_rate: {text}").learning_rate == number


def test_words_that_yaml_1_1_takes_for_booleans_stay_words() -> None:
    assert parse_recipe(MINIMAL + "sample_prompts: [on, no, yes]").sample_prompts == ("on", "no", "yes")


def test_a_whole_number_with_leading_zeros_is_decimal() -> None:
    assert parse_recipe(MINIMAL + "lora_rank: 016").lora_rank == 16
    assert parse_recipe(MINIMAL + "seed: 089").seed == 89


@pytest.mark.parametrize(
    "text",
    [
        "seed: !!int x",
        "seed: !!float x",
        "seed: !!timestamp x",
        f"seed: {'9' * 5000}",
        "\0",
        "[" * 5000,
        "!!python/object:os.X",
    ],
    ids=["int", "float", "timestamp", "huge", "control", "deep", "python"],
)
def test_text_that_breaks_a_yaml_reader_is_refused_by_name(text: str) -> None:
    with pytest.raises(EngineError) as caught:
        parse_recipe(text)
    assert caught.value.code in ("not_yaml", "wrong_type", "not_a_recipe")


@pytest.mark.parametrize(
    "weight, is_good", [(0.5, True), (3, True), (0, False), (-1, False), (1e9, False), (".nan", False)]
)
def test_a_data_set_is_taken_a_sensible_number_of_times(weight: object, is_good: bool) -> None:
    recipe = parse_recipe(f"model: {{source: folder, path: /m}}\ndatasets: [{{path: r.jsonl, weight: {weight}}}]\n")
    assert [problem.code for problem in check(recipe)] == ([] if is_good else ["weight_out_of_range"])


def test_an_empty_list_that_was_set_stays_set() -> None:
    recipe = minimal(lora_targets=[])
    assert parse_recipe(to_yaml(recipe)) == recipe
    assert [problem.code for problem in check(parse_recipe(to_yaml(recipe)))] == ["no_targets"]


@pytest.mark.parametrize(
    "text, code, where, said",
    [
        ("lerning_rate: 1", "unknown_key", "lerning_rate", "learning_rate"),
        ("learning_rate: fast", "wrong_type", "learning_rate", "float"),
        ("datasets: [{pth: x}]", "wrong_type", "datasets", "pth"),
        ("seed: 1\nseed: 2", "duplicate_key", "line 2", "seed"),
        ("seed: [", "not_yaml", "line 1", "YAML"),
        ("- a", "not_a_recipe", "", "key"),
        ("version: 99", "recipe_too_new", "version", "99"),
    ],
)
def test_bad_text_is_refused_with_its_place(text: str, code: str, where: str, said: str) -> None:
    with pytest.raises(EngineError) as caught:
        parse_recipe(text)
    assert (caught.value.code, caught.value.where) == (code, where)
    assert said in str(caught.value)


def test_all_unknown_keys_are_told_at_once() -> None:
    with pytest.raises(ProblemsError) as caught:
        parse_recipe("lora_rnk: 3\nepoch: 2")
    assert [p.arguments["nearest"] for p in caught.value.problems] == ["lora_rank", "epochs"]


@pytest.mark.parametrize("key", [k for k, s in FIELDS.items() if s.minimum is not None or s.maximum is not None])
def test_each_range_is_enforced_at_both_ends(key: str) -> None:
    spec = FIELDS[key]
    step = 1 if spec.kind == "integer" else 1e-6
    outside = []
    if spec.minimum is not None:
        outside.append(spec.minimum if spec.open_minimum else spec.minimum - step)
    if spec.maximum is not None:
        outside.append(spec.maximum + max(step, spec.maximum * 1e-6))
    for value in outside:
        number = int(value) if spec.kind == "integer" else float(value)
        assert [p.where for p in check(minimal(**{key: number}))] == [key]


def test_every_problem_is_told_at_once() -> None:
    recipe = minimal(lora_rank=0, schedule="exponential", lora_targets=["z_proj"])
    assert {p.where for p in check(recipe)} == {"lora_rank", "schedule", "lora_targets"}
    assert {p.where for p in check(Recipe())} == {"model", "datasets"}


@pytest.mark.scenario("S15")
@pytest.mark.parametrize(
    "key, value", [(key, value) for key in ("schedule", "optimizer") for value, _ in FIELDS[key].choices]
)
def test_every_scheduler_and_optimizer_makes_a_valid_recipe(key: str, value: str) -> None:
    recipe = minimal(**{key: value})
    assert check(recipe) == []
    assert getattr(resolve(recipe), key) == value


plain = {
    "integer": lambda s: st.integers(int(s.minimum or 0), int(min(s.maximum or 10**6, 10**6))),
    "number": lambda s: st.floats(s.minimum or 0.0, s.maximum or 1e6, allow_nan=False).filter(
        lambda x: not s.open_minimum or x > (s.minimum or 0.0)
    ),
    "switch": lambda s: st.booleans(),
    "choice": lambda s: st.sampled_from([v for v, _ in s.choices]),
    "choices": lambda s: st.lists(st.sampled_from([v for v, _ in s.choices]), min_size=1, unique=True).map(tuple),
    "text": lambda s: st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=20),
    "texts": lambda s: st.lists(st.text(st.characters(exclude_categories=["C"]), max_size=20), min_size=1).map(tuple),
}


@given(st.data())
def test_writing_and_reading_gives_the_same_recipe(data: st.DataObject) -> None:
    keys = [key for key, spec in FIELDS.items() if spec.kind in plain]
    chosen = data.draw(st.lists(st.sampled_from(keys), unique=True, max_size=8))
    settings = {key: data.draw(plain[FIELDS[key].kind](FIELDS[key]), label=key) for key in chosen}
    recipe = Recipe(model=ModelRef(path="/m", source="folder"), datasets=(DatasetRef("ä b.jsonl"),), **settings)
    assert parse_recipe(to_yaml(recipe)) == recipe


def test_the_hash_is_of_what_trains_not_of_the_name() -> None:
    assert recipe_hash(minimal(name="a")) == recipe_hash(minimal(name="b"))
    assert recipe_hash(minimal(lora_rank=16)) == recipe_hash(minimal())  # the default, said or not
    assert recipe_hash(minimal(lora_rank=8)) != recipe_hash(minimal())


def test_labels_are_unique_and_help_is_a_sentence() -> None:
    labels = [spec.label for spec in FIELDS.values()]
    assert len(labels) == len(set(labels))
    assert all(spec.help.endswith(".") for spec in FIELDS.values())


def test_the_resolved_recipe_survives_json() -> None:
    resolved = resolve(parse_recipe(MINIMAL))
    assert msgspec.json.decode(msgspec.json.encode(resolved), type=ResolvedRecipe) == resolved
