"""Editing a recipe: forms and `--set` go the same way, and every step can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.errors import SurroundingsError
from engine.protocol.fields import FIELDS
from studio.recipes import DatasetRef, ModelRef, Recipe, parse_recipe, resolve, to_yaml
from studio.recipes.document import RecipeDocument
from studio.recipes.library import PRESETS, RecipeLibrary, read_recipe
from studio.recipes.setting_text import parse_setting, setting_text

MODEL = ModelRef("hub", repository="organisation/model")


def test_set_undo_redo_and_reset() -> None:
    document = RecipeDocument(Recipe(model=MODEL))
    seen: list[frozenset[str]] = []
    unsubscribe = document.subscribe(seen.append)
    document.set("lora_rank", 8)
    document.set_text("learning_rate", "1e-3")
    assert document.changed_keys() == ["lora_rank", "learning_rate"]
    document.undo()
    assert (document.value("learning_rate"), document.can_redo) == (2e-4, True)
    document.redo()
    document.reset("lora_rank")
    assert document.value("lora_rank") == 16
    assert seen == [{"lora_rank"}, {"learning_rate"}, {"learning_rate"}, {"learning_rate"}, {"lora_rank"}]
    unsubscribe()
    document.set("seed", 1)
    assert len(seen) == 5
    assert not document.can_redo


def test_a_default_that_depends_on_another_key_is_not_shown_as_changed() -> None:
    document = RecipeDocument(Recipe(model=MODEL))
    seen: list[frozenset[str]] = []
    document.subscribe(seen.append)
    document.set("method", "full")
    assert document.changed_keys() == ["method"]
    assert document.value("learning_rate") == 1e-5
    assert seen == [{"method", "learning_rate", "weight_decay"}]
    assert "lora_rank" not in document.shown_keys()


def test_several_changes_are_one_step_of_undo() -> None:
    document = RecipeDocument()
    document.edit({"micro_batch_size": 2, "recompute": "blocks"})
    document.undo()
    assert document.recipe == Recipe()
    assert not document.can_undo


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    document = RecipeDocument()
    with pytest.raises(SurroundingsError, match="lora_rank") as unknown:
        document.set_text("lora_rnk", "8")
    assert unknown.value.code == "unknown_key"
    with pytest.raises(SurroundingsError) as wrong:
        document.set("lora_rank", "eight")
    assert wrong.value.code == "wrong_type"
    with pytest.raises(SurroundingsError) as unreadable:
        document.set_text("epochs", "many")
    assert unreadable.value.code == "setting.unreadable"
    assert document.recipe == Recipe()
    document.set("learning_rate", -1.0)  # out of range: taken, and named
    assert "learning_rate" in {problem.where for problem in document.problems()}


@pytest.mark.parametrize("key", sorted(FIELDS))
def test_every_default_reads_back_from_its_own_text(key: str) -> None:
    value = FIELDS[key].default(Recipe())
    read = parse_setting(key, setting_text(value))
    if value in (None, "", ()):
        assert not read  # an empty text stands for the default, whatever that is
    else:
        assert read == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back(number: float) -> None:
    assert parse_setting("learning_rate", setting_text(number)) == number


@given(st.lists(st.text(min_size=1).filter(lambda text: text.strip() != ""), min_size=1))
def test_lists_of_texts_read_back(texts: list[str]) -> None:
    assert parse_setting("sample_prompts", setting_text(tuple(texts))) == tuple(texts)


def test_data_sets_are_named_from_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine works in the run's folder: `rows.jsonl` would be looked for there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    wanted = (DatasetRef(str(tmp_path / "rows.jsonl")), DatasetRef("/home/somebody/more"))
    assert parse_setting("datasets", "rows.jsonl, ~/more") == wanted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("organisation/name", ModelRef("hub", repository="organisation/name")),
        ("organisation/name@v1", ModelRef("hub", repository="organisation/name", revision="v1")),
        ("/models/a", ModelRef("folder", path="/models/a")),
    ],
)
def test_a_model_is_a_repository_or_a_folder(text: str, expected: ModelRef) -> None:
    assert parse_setting("model", text) == expected
    assert setting_text(expected) == text


@pytest.mark.scenario("S15")
@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key, spec in FIELDS.items() if spec.kind == "choice" for value, _ in spec.choices],
)
def test_every_choice_makes_a_valid_recipe(key: str, value: str) -> None:
    document = RecipeDocument(Recipe(model=MODEL))
    document.set_text("datasets", "/data/rows.jsonl")
    document.set_text(key, value)
    assert document.problems() == []
    assert resolve(parse_recipe(to_yaml(document.recipe))) == resolve(document.recipe)
    assert getattr(resolve(document.recipe), key) == value


@pytest.mark.parametrize("path", sorted(PRESETS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_preset_is_a_sound_recipe_and_says_what_it_is_for(path: Path, tmp_path: Path) -> None:
    recipe = read_recipe(path)
    document = RecipeDocument(recipe)
    document.set("model", MODEL)
    document.set_text("datasets", "/data/rows.jsonl")
    assert document.problems() == []
    entry = next(entry for entry in RecipeLibrary(tmp_path).list() if entry.path == str(path))
    assert entry.is_preset
    assert len(entry.about) > 20


def test_the_library_never_overwrites_by_name_and_lists_what_it_cannot_read(tmp_path: Path) -> None:
    library = RecipeLibrary(tmp_path)
    first, second = library.save(Recipe(seed=1), "My / recipe"), library.save(Recipe(seed=2), "My / recipe")
    assert first != second
    assert library.open(first).seed == 1
    library.overwrite(Recipe(seed=3), first)
    assert library.open(first).seed == 3
    (tmp_path / "broken.yaml").write_text("lora_rnk: 3")
    broken = next(entry for entry in library.list() if entry.name == "broken")
    assert broken.problem is not None
    assert broken.problem.code == "unknown_key"
    with pytest.raises(SurroundingsError, match="Presets"):
        library.overwrite(Recipe(), next(PRESETS.glob("*.yaml")))


def test_paths_in_a_recipe_file_are_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("model: {source: folder, path: model}\ndatasets: [{path: rows.jsonl}]\n")
    recipe = read_recipe(tmp_path / "r.yaml")
    assert recipe.model is not None
    assert recipe.model.path == str(tmp_path / "model")
    assert recipe.datasets[0].path == str(tmp_path / "rows.jsonl")
