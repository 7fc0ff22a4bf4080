"""Which format a dataset has, by what evidence, and what the user may say instead."""

from __future__ import annotations

import pytest

from engine.data.examples import CONVERTERS, Conversation, Passage, RowUnusable
from engine.data.formats import FORMATS, detect, require_trainable
from engine.data.rows import Row
from engine.protocol.errors import SurroundingsError
from tests.helpers.datasets import chat

SAMPLES: dict[str, dict[str, object]] = {
    "messages": chat("Hi", "Hello"),
    "sharegpt": {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
    "alpaca": {"instruction": "Say hello", "input": "", "output": "Hello"},
    "prompt_completion": {"prompt": "Say hello", "completion": "Hello"},
    "text": {"text": "Hello"},
    "preference": {"prompt": "Hi", "chosen": "Hello", "rejected": "Bye"},
}


def rows_of(*values: dict[str, object]) -> list[Row]:
    return [Row("x.jsonl", number, value) for number, value in enumerate(values, start=1)]


@pytest.mark.parametrize("name", list(SAMPLES))
def test_each_format_is_told_from_the_others(name: str) -> None:
    detection = detect(rows_of(*[SAMPLES[name]] * 3), None, {})
    assert detection.format == name
    assert detection.evidence.startswith("3 of 3 rows are ")
    assert {match.format: match.matches for match in detection.matches}[name] == 3


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "preference"])
def test_each_format_is_converted(name: str) -> None:
    detection = detect(rows_of(SAMPLES[name]), None, {})
    example = CONVERTERS[name](Row("x", 1, SAMPLES[name]), detection.mapping)
    words = example.text if isinstance(example, Passage) else example.messages[-1]["content"]
    assert str(words).endswith("Hello")


def test_preference_is_refused_by_name() -> None:
    detection = detect(rows_of(SAMPLES["preference"]), None, {})
    assert not FORMATS["preference"].trainable
    with pytest.raises(SurroundingsError) as caught:
        require_trainable(detection, "x.jsonl")
    assert caught.value.code == "format_preference"


def test_the_majority_decides_and_the_evidence_counts() -> None:
    detection = detect(rows_of(*[SAMPLES["messages"]] * 8, *[SAMPLES["alpaca"]] * 2), None, {})
    assert detection.format == "messages" and detection.evidence.startswith("8 of 10 rows")


def test_the_user_may_say_otherwise() -> None:
    row: dict[str, object] = {"question": "Hi", "answer": "Hello", "text": "Hi Hello"}
    assert detect(rows_of(row), None, {}).format == "prompt_completion"
    detection = detect(rows_of(row), "alpaca", {"instruction": "question", "output": "answer"})
    assert detection.format == "alpaca" and detection.evidence.startswith("1 of 1")
    example = CONVERTERS["alpaca"](Row("x", 1, row), detection.mapping)
    assert isinstance(example, Conversation) and example.messages[-1]["content"] == "Hello"


def test_columns_and_roles_of_other_names_are_found_or_given() -> None:
    row: dict[str, object] = {
        "conversation": [{"speaker": "customer", "text": "Hi"}, {"speaker": "expert", "text": "Hello"}]
    }
    detection = detect(rows_of(row), None, {})
    assert detection.format == "messages"
    assert detection.mapping == {"messages": "conversation", "role": "speaker", "content": "text"}
    with pytest.raises(RowUnusable, match="expert"):
        CONVERTERS["messages"](Row("x", 1, row), detection.mapping)
    example = CONVERTERS["messages"](Row("x", 1, row), {**detection.mapping, "assistant": "expert"})
    assert isinstance(example, Conversation)
    assert [message["role"] for message in example.messages] == ["user", "assistant"]


def test_conversations_in_table_cells_are_read_as_json() -> None:
    row: dict[str, object] = {"messages": '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]'}
    assert detect(rows_of(row), None, {}).format == "messages"


def test_unknown_shapes_and_names_say_what_there_is() -> None:
    detection = detect(rows_of({"foo": 1, "bar": 2}), None, {})
    assert detection.format == "" and "bar, foo" in detection.evidence
    with pytest.raises(SurroundingsError) as caught:
        require_trainable(detection, "x.jsonl")
    assert caught.value.code == "format_not_found"
    with pytest.raises(SurroundingsError, match="alpaka"):
        detect(rows_of(SAMPLES["text"]), "alpaka", {})


def test_alpaca_history_becomes_turns() -> None:
    row = {**SAMPLES["alpaca"], "system": "Brief.", "history": [["One", "Two"]], "input": "now"}
    example = CONVERTERS["alpaca"](Row("x", 1, row), detect(rows_of(row), None, {}).mapping)
    assert isinstance(example, Conversation)
    assert [message["content"] for message in example.messages] == ["Brief.", "One", "Two", "Say hello\n\nnow", "Hello"]
