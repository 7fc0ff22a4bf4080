"""A recipe's datasets as a whole: what is shown before training, the split, the cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.data.preparing import PreparedData, open_dataset
from engine.protocol.data_messages import DataStatistics, Issue
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import ResolvedRecipe
from tests.helpers.datasets import chat, data_recipe, silent, write_lines
from tests.helpers.text_models import write_tokenizer


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tokenizers")
    return {name: write_tokenizer(root / name, name) for name in ("chatml", "mistral", "qwen3", "base", "generation")}


def many(count: int, start: int = 0) -> list[dict[str, object]]:
    return [
        chat(f"Question {number}?", f"Answer {number * 7} " * (number % 9 + 1))
        for number in range(start, start + count)
    ]


def prepare(recipe: ResolvedRecipe, folder: Path, cache: Path) -> PreparedData:
    return open_dataset(recipe, folder, cache, silent)


def issues_of(statistics: DataStatistics) -> dict[str, Issue]:
    return {issue.code: issue for issue in statistics.issues}


@pytest.mark.scenario("S16")
def test_what_is_wrong_with_conversations_is_counted_before_training(tmp_path: Path, folders: dict[str, Path]) -> None:
    rows: Sequence[object] = [
        *many(10),
        chat("Hi", "Hello", "And then?"),  # line 11
        chat("Hi", "  "),  # 12
        chat("Hi", "word " * 400),  # 13
        chat("Hi there " * 100, "Never reached"),  # 14
        chat("Only a question"),  # 15
        {"messages": []},  # 16
        {"messages": [{"role": "wizard", "content": "x"}]},  # 17
        "{broken",  # 18
        chat("Hi", "Say <|im_end|> twice"),  # 19
        chat("Question 3?", "Answer 21 " * 4),  # 20, as line 4
    ]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    recipe = data_recipe(path, sequence_length=128, evaluation_fraction=0.0)
    statistics = prepare(recipe, folders["chatml"], tmp_path / "cache").statistics
    found = issues_of(statistics)
    expected = {
        "ends_in_user": ("kept", [11]),
        "empty_assistant": ("left_out", [12]),
        "too_long": ("cut", [13]),
        "nothing_left": ("left_out", [14]),
        "no_assistant": ("left_out", [15]),
        "empty": ("left_out", [16]),
        "wrong_shape": ("left_out", [17]),
        "malformed": ("left_out", [18]),
        "control_tokens": ("kept", [19]),
        "duplicate": ("kept", [20]),
    }
    assert {code: (issue.effect, [place.line for place in issue.examples]) for code, issue in found.items()} == expected
    assert all(issue.count == 1 and issue.examples[0].file == "rows.jsonl" for issue in found.values())
    assert "wizard" in found["wrong_shape"].examples[0].reason
    assert statistics.rows_read == 20 and statistics.rows_left_out == 6
    assert statistics.training.rows == 14 and statistics.training.truncated_rows == 1
    assert statistics.training.lost_tokens > 0
    assert sum(statistics.histogram.rows) == 15 and statistics.template == "model"


@pytest.mark.scenario("S16")
def test_a_system_turn_that_the_template_does_not_know(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(
        tmp_path / "rows.jsonl", [*many(4), chat("Hi", "Hello", system="Be brief."), chat("a", "b", "c")]
    )
    recipe = data_recipe(path, sequence_length=128, evaluation_fraction=0.0)
    refusing = prepare(recipe, folders["mistral"], tmp_path / "cache").statistics
    assert [place.line for place in issues_of(refusing)["system_refused"].examples] == [5]
    dropping = (
        "{% for m in messages if m.role != 'system' %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    folder = write_tokenizer(tmp_path / "dropping", "chatml", template=dropping)
    dropped = issues_of(prepare(recipe, folder, tmp_path / "cache").statistics)
    assert dropped["system_dropped"].count == 1 and dropped["system_dropped"].effect == "kept"
    assert "system_dropped" not in issues_of(prepare(recipe, folders["chatml"], tmp_path / "cache").statistics)


@pytest.mark.scenario("S16")
def test_rows_that_the_template_refuses_and_ends_that_it_does_not_mark(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    two_users = {
        "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, chat("", "c")["messages"][1]]
    }  # type: ignore[index]  # chat() rows
    path = write_lines(tmp_path / "rows.jsonl", [*many(4), two_users])
    recipe = data_recipe(path, sequence_length=128, evaluation_fraction=0.0)
    refused = issues_of(prepare(recipe, folders["mistral"], tmp_path / "cache").statistics)["template_refused"]
    assert refused.count == 1 and "alternate" in refused.examples[0].reason
    from tests.helpers.text_models import GENERATION

    endless = GENERATION.replace(
        "+ '<|im_end|>' }}{% endgeneration %}{{ '\n'", "}}{% endgeneration %}{{ '<|im_end|>\n'"
    )
    assert endless != GENERATION
    folder = write_tokenizer(tmp_path / "endless", "generation", template=endless)
    assert issues_of(prepare(recipe, folder, tmp_path / "cache").statistics)["end_not_learned"].count == 5


@pytest.mark.scenario("S17")
def test_the_same_row_in_training_and_evaluation_is_found(tmp_path: Path, folders: dict[str, Path]) -> None:
    training = write_lines(tmp_path / "training.jsonl", many(20))
    evaluation = write_lines(tmp_path / "evaluation.jsonl", [*many(5, start=100), *many(2, start=3)])
    recipe = data_recipe(training, evaluation=[evaluation], sequence_length=64)
    statistics = prepare(recipe, folders["chatml"], tmp_path / "cache").statistics
    leakage = issues_of(statistics)["leakage"]
    assert leakage.count == 2
    assert [(place.file, place.line) for place in leakage.examples] == [
        ("evaluation.jsonl", 6),
        ("evaluation.jsonl", 7),
    ]
    assert statistics.training.rows == 20 and statistics.evaluation.rows == 7


@pytest.mark.scenario("S17")
def test_a_held_out_share_keeps_copies_of_a_row_together(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(tmp_path / "rows.jsonl", many(30) * 3)
    recipe = data_recipe(path, sequence_length=64, evaluation_fraction=0.2)
    statistics = prepare(recipe, folders["chatml"], tmp_path / "cache").statistics
    assert statistics.evaluation.rows == 18 and statistics.training.rows == 72
    assert "leakage" not in issues_of(statistics) and issues_of(statistics)["duplicate"].count == 60


def epoch_bytes(data: PreparedData) -> list[bytes]:
    return [part.at(0, index).ids.tobytes() for part in (data.training, data.evaluation) for index in range(len(part))]


def test_the_seed_fixes_everything_and_the_cache_changes_nothing(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(tmp_path / "rows.jsonl", many(40))
    recipe = data_recipe(path, sequence_length=64, micro_batch_size=2, evaluation_fraction=0.1)
    first = prepare(recipe, folders["chatml"], tmp_path / "cache")
    stores = sorted((tmp_path / "cache").iterdir())
    again = prepare(recipe, folders["chatml"], tmp_path / "cache")
    elsewhere = prepare(recipe, folders["chatml"], tmp_path / "other")
    assert epoch_bytes(first) == epoch_bytes(again) == epoch_bytes(elsewhere)
    assert first.statistics == again.statistics == elsewhere.statistics
    assert sorted((tmp_path / "cache").iterdir()) == stores and len(stores) == 1
    other_seed = data_recipe(path, sequence_length=64, micro_batch_size=2, evaluation_fraction=0.1, seed=43)
    assert epoch_bytes(prepare(other_seed, folders["chatml"], tmp_path / "cache")) != epoch_bytes(first)


def test_whatever_decides_a_token_makes_another_cache(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(tmp_path / "rows.jsonl", many(10))
    cache = tmp_path / "cache"

    def stores(folder: str = "chatml", **settings: object) -> int:
        prepare(data_recipe(path, **{"sequence_length": 64, **settings}), folders[folder], cache)
        return len(list(cache.iterdir()))

    assert stores() == 1
    assert stores(sequence_length=32, packing=False, seed=9, micro_batch_size=3) == 1
    assert stores(loss_on="all") == 2
    assert stores("qwen3") == 3
    assert stores(chat_template="chatml") == 4
    write_lines(path, many(11))
    assert stores() == 5


def test_a_damaged_cache_is_made_again_and_a_failure_leaves_none(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(tmp_path / "rows.jsonl", many(10))
    recipe = data_recipe(path, sequence_length=64)
    expected = epoch_bytes(prepare(recipe, folders["chatml"], tmp_path / "cache"))
    store = next((tmp_path / "cache").iterdir())
    (store / "ids.bin").write_bytes(b"short")
    assert epoch_bytes(prepare(recipe, folders["chatml"], tmp_path / "cache")) == expected

    def cancel(phase: str, done: int, total: int, unit: str) -> None:
        if phase == "tokenising":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_dataset(recipe, folders["chatml"], tmp_path / "other", cancel)
    assert list((tmp_path / "other").iterdir()) == []


def test_statistics_agree_with_the_batches(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(tmp_path / "rows.jsonl", many(60))
    for packing in (True, False):
        recipe = data_recipe(path, sequence_length=64, micro_batch_size=3, packing=packing)
        data = prepare(recipe, folders["chatml"], tmp_path / "cache")
        for part, figures in ((data.training, data.statistics.training), (data.evaluation, data.statistics.evaluation)):
            batches = [part.at(0, index) for index in range(len(part))]
            assert sum(batch.tokens for batch in batches) == figures.tokens
            assert sum(batch.weight for batch in batches) == figures.trained_tokens
            assert len(batches) == figures.micro_batches and part.max_documents == data.statistics.max_documents
            assert figures.padding_tokens == len(batches) * 3 * 64 - figures.tokens
        if packing:
            assert data.statistics.packing_efficiency > data.statistics.padded_efficiency
        else:
            assert data.statistics.max_documents == 1
            assert data.statistics.packing_efficiency == data.statistics.padded_efficiency


def test_text_goes_on_from_block_to_block(tmp_path: Path, folders: dict[str, Path]) -> None:
    (tmp_path / "book.txt").write_text("Four, of course. " * 300, encoding="utf-8")
    recipe = data_recipe(tmp_path / "book.txt", sequence_length=64, evaluation_fraction=0.0)
    data = prepare(recipe, folders["base"], tmp_path / "cache")
    statistics = data.statistics
    assert statistics.template == "none" and statistics.training.truncated_rows == 0
    assert statistics.training.documents > 10 and statistics.training.lost_tokens <= 1
    assert statistics.training.trained_tokens == statistics.training.tokens - statistics.training.documents


def test_weights_take_a_source_more_or_less_often(tmp_path: Path, folders: dict[str, Path]) -> None:
    from engine.protocol.recipe import DatasetRef

    paths = [write_lines(tmp_path / f"{name}.jsonl", many(20, start)) for name, start in (("a", 0), ("b", 50))]
    mixed = tuple(DatasetRef(str(path), weight=weight) for path, weight in zip(paths, (0.5, 2.0), strict=True))
    recipe = data_recipe(sequence_length=64, evaluation_fraction=0.0, datasets=mixed)
    assert prepare(recipe, folders["chatml"], tmp_path / "cache").statistics.training.rows == 10 + 40


def test_several_files_and_sources_keep_their_places(tmp_path: Path, folders: dict[str, Path]) -> None:
    (tmp_path / "set").mkdir()
    write_lines(tmp_path / "set" / "a.jsonl", many(3))
    write_lines(tmp_path / "set" / "b.jsonl", [*many(3, 10), "{broken"])
    statistics = prepare(
        data_recipe(tmp_path / "set", sequence_length=64), folders["chatml"], tmp_path / "c"
    ).statistics
    place = issues_of(statistics)["malformed"].examples[0]
    assert (place.file, place.line) == ("b.jsonl", 4) and "JSON" in place.reason


@pytest.mark.parametrize(
    ("family", "choice", "code"),
    [
        ("base", "model", "no_chat_template"),
        ("base", "chatml", "chatml_tokens_missing"),
        ("nothing", "model", "tokenizer_missing"),
        ("old", "model", "tokenizer_model_only"),
        ("broken", "model", "tokenizer_broken"),
    ],
)
def test_what_a_model_lacks_is_said(
    tmp_path: Path, folders: dict[str, Path], family: str, choice: str, code: str
) -> None:
    folder = folders.get(family, tmp_path / family)
    folder.mkdir(exist_ok=True)
    if family == "old":
        (folder / "tokenizer.model").write_bytes(b"\n")
    if family == "broken":
        (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    path = write_lines(tmp_path / "rows.jsonl", many(4))
    with pytest.raises(SurroundingsError) as caught:
        prepare(data_recipe(path, chat_template=choice), folder, tmp_path / "cache")
    assert caught.value.code == code and caught.value.remedy


def test_a_base_model_trains_on_conversations_by_a_named_template(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(tmp_path / "rows.jsonl", many(4))
    data = prepare(data_recipe(path, chat_template="plain"), folders["base"], tmp_path / "cache")
    assert data.statistics.template == "plain" and data.template is not None
    assert "### Assistant" in data.template.source or "### " in data.template.source


def test_no_row_left_says_why(tmp_path: Path, folders: dict[str, Path]) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [chat("Only a question")] * 3)
    with pytest.raises(SurroundingsError) as caught:
        prepare(data_recipe(path), folders["chatml"], tmp_path / "cache")
    assert caught.value.code == "no_rows" and "no assistant turn" in caught.value.message


def test_padding_and_truncation_of_a_tokenizer_file_are_switched_off(tmp_path: Path, folders: dict[str, Path]) -> None:
    import shutil

    from engine.data.tokenizer import load_tokenizer

    folder = tmp_path / "t"
    shutil.copytree(folders["chatml"], folder)
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    content["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    content["padding"] = {
        "strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    text = "Clear the local index once, then sync again."
    expected = load_tokenizer(folders["chatml"]).encode(text).ids
    assert load_tokenizer(folder).encode(text).ids == expected and len(expected) > 4
    assert np.array_equal(expected, load_tokenizer(folder).encode_many([text, "x" * 200])[0].ids)
