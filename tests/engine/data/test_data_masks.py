"""Ids and masks against transformers, and the exact words that each template family learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.data.examples import Conversation, RowUnusable
from engine.data.marking import Marker, tokens_of
from engine.data.rows import Row
from engine.data.tokenizer import load_tokenizer
from tests.helpers.datasets import chat, turns
from tests.helpers.text_models import write_tokenizer

CONVERSATIONS = {
    "one": turns("What is two plus two?", "Four, of course."),
    "several": turns("How long?", "Again.", "Grüße 🙂 東京", "Ça va! \n\n```x```", "one <two>", "three"),
    "system": turns("Hi", "Hello there", "More", "  spaced out \n", system="Be brief and exact."),
    "ends in user": turns("Hi", "Hello there", "And then?"),
    "thinking": turns("Hi", "<think>\nreason\n</think>\n\nHello", "More", "<think>\nagain\n</think>\n\nYes"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tokenizers")
    names = ("chatml", "smollm", "generation", "llama3", "mistral", "qwen3", "base")
    return {name: write_tokenizer(root / name, name) for name in names}


def mark(folder: Path, messages: list[dict[str, object]], loss_on: str = "assistant", template: str = "model") -> Any:
    tokenizer = load_tokenizer(folder)
    marker = Marker("messages", {"messages": "messages"}, tokenizer, tokenizer.template(template), loss_on)
    marked = marker.mark(Row("x.jsonl", 1, {"messages": messages}))
    ids, mask = tokens_of(marked, tokenizer.encode(marked.text))
    return marked, ids, mask, tokenizer


def learned_text(folder: Path, messages: list[dict[str, object]], **options: str) -> list[str]:
    """The learned stretches as text."""
    marked, *_ = mark(folder, messages, **options)
    return [marked.text[start:end] for start, end in marked.spans]


@pytest.mark.parametrize("family", ["chatml", "smollm", "generation", "llama3", "mistral", "qwen3"])
@pytest.mark.parametrize("name", list(CONVERSATIONS))
def test_ids_are_those_of_transformers(folders: dict[str, Path], family: str, name: str) -> None:
    from transformers import PreTrainedTokenizerFast

    if family == "mistral" and name == "system":
        with pytest.raises(RowUnusable):
            mark(folders[family], CONVERSATIONS[name])
        return
    oracle = PreTrainedTokenizerFast.from_pretrained(folders[family])
    expected = oracle.apply_chat_template(CONVERSATIONS[name], tokenize=True, return_dict=True)["input_ids"]
    _, ids, _, _ = mark(folders[family], CONVERSATIONS[name])
    assert ids.tolist() == list(expected)


@pytest.mark.parametrize("name", list(CONVERSATIONS))
def test_masks_are_those_of_transformers(folders: dict[str, Path], name: str) -> None:
    from transformers import PreTrainedTokenizerFast

    oracle = PreTrainedTokenizerFast.from_pretrained(folders["generation"])
    expected = oracle.apply_chat_template(
        CONVERSATIONS[name], tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    _, ids, mask, _ = mark(folders["generation"], CONVERSATIONS[name])
    assert ids.tolist() == list(expected["input_ids"])
    assert mask.tolist() == list(expected["assistant_masks"])
    assert 0 < mask.sum() < mask.size


@pytest.mark.parametrize("name", list(CONVERSATIONS))
def test_the_mask_found_by_prefixes_is_the_one_that_generation_blocks_mark(folders: dict[str, Path], name: str) -> None:
    _, marked_ids, marked_mask, _ = mark(folders["generation"], CONVERSATIONS[name])
    _, ids, mask, _ = mark(folders["chatml"], CONVERSATIONS[name])
    assert ids.tolist() == marked_ids.tolist()
    assert mask.tolist() == marked_mask.tolist()


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("chatml", ["Again.<|im_end|>", "three<|im_end|>"]),
        ("smollm", ["Again.<|im_end|>", "three<|im_end|>"]),
        ("llama3", ["Again.<|eot_id|>", "three<|eot_id|>"]),
        ("mistral", [" Again.</s>", " three</s>"]),
        ("qwen3", ["Again.<|im_end|>", "<think>\n\n</think>\n\nthree<|im_end|>"]),
    ],
)
def test_every_family_learns_its_answers_and_their_ends(
    folders: dict[str, Path], family: str, expected: list[str]
) -> None:
    messages = turns("How long?", "Again.", "one", "three")
    assert learned_text(folders[family], messages) == expected
    assert learned_text(folders[family], messages, loss_on="last_assistant") == expected[-1:]


def test_qwen3_learns_earlier_turns_without_the_thinking_that_it_drops(folders: dict[str, Path]) -> None:
    assert learned_text(folders["qwen3"], CONVERSATIONS["thinking"]) == [
        "Hello<|im_end|>",
        "<think>\nagain\n</think>\n\nYes<|im_end|>",
    ]


def test_stripped_content_is_found_in_both_ways(folders: dict[str, Path]) -> None:
    messages = turns("Hi", "  spaced out \n", "More", " yes ")
    assert learned_text(folders["llama3"], messages) == ["spaced out<|eot_id|>", "yes<|eot_id|>"]
    # Qwen3 keeps blanks of its earlier turns, which are found by the probe.
    assert learned_text(folders["qwen3"], messages)[0] == "  spaced out \n<|im_end|>"


def test_a_conversation_may_begin_with_the_assistant(folders: dict[str, Path]) -> None:
    messages: list[dict[str, object]] = [{"role": "assistant", "content": "Welcome"}, *turns("Hi", "Hello")]
    assert learned_text(folders["smollm"], messages) == ["Welcome<|im_end|>", "Hello<|im_end|>"]
    assert learned_text(folders["chatml"], messages) == ["Welcome<|im_end|>", "Hello<|im_end|>"]


TOOLED = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}"
    "{% for call in m.tool_calls %}{{ '\n' if m.content or not loop.first }}"
    "<tool_call>{{ call.function.name }}: {{ call.function.arguments | tojson }}</tool_call>{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.mark.parametrize("content", ["", "Let me see."])
def test_tool_calls_are_learned_with_their_turn(tmp_path: Path, content: str) -> None:
    folder = write_tokenizer(tmp_path, "chatml", template=TOOLED)
    call = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Köln"}}}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": content or None, "tool_calls": [call]},
        {"role": "tool", "content": "sunny"},
        {"role": "assistant", "content": "It is sunny."},
    ]
    said = (content and f"{content}\n") + '<tool_call>weather: {"city": "Köln"}</tool_call><|im_end|>'
    assert learned_text(folder, messages) == [said, "<think>\n\n</think>\n\nIt is sunny.<|im_end|>"]


def test_a_prompt_that_opens_the_thinking_is_not_learned_and_nothing_of_the_answer_is_lost(tmp_path: Path) -> None:
    from tests.helpers.text_models import CHATML

    template = CHATML.replace("assistant\n' }}", "assistant\n<think>\n' }}")
    folder = write_tokenizer(tmp_path, "chatml", template=template)
    assert learned_text(folder, turns("Hi", "Hello")) == ["Hello<|im_end|>"]


def test_a_template_that_rewrites_an_answer_refuses_the_row(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content if loop.last else m.content | reverse }}"
        "<|im_end|>\n{% endfor %}"
    )
    folder = write_tokenizer(tmp_path, "chatml", template=template)
    with pytest.raises(RowUnusable) as caught:
        mark(folder, turns("Hi", "Hello", "More", "Yes"))
    assert caught.value.code == "mask_not_found"


def test_loss_on_all_learns_everything_but_what_nothing_predicts(folders: dict[str, Path]) -> None:
    marked, ids, mask, _ = mark(folders["llama3"], CONVERSATIONS["one"], loss_on="all")
    assert marked.spans == ((0, len(marked.text)),)
    assert mask.all() and mask.size == ids.size


@pytest.mark.parametrize("family", ["llama3", "mistral"])
def test_the_first_token_is_never_doubled(folders: dict[str, Path], family: str) -> None:
    _, ids, _, tokenizer = mark(folders[family], CONVERSATIONS["one"])
    assert ids[0] == tokenizer.bos and (ids == tokenizer.bos).sum() == 1


def test_text_begins_and_ends_as_the_model_expects(folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders["base"])
    marker = Marker("text", {"text": "text"}, tokenizer, None, "assistant")
    for text, closed in (("How long?", True), ("<s>How long?", True), ("How long?</s>", True), ("How long?", False)):
        marked = marker.mark(Row("x.txt", 1, {"text": text}, continues=not closed))
        ids, mask = tokens_of(marked, tokenizer.encode(marked.text))
        assert ids[0] == tokenizer.bos and (ids == tokenizer.bos).sum() == 1
        assert (ids == tokenizer.eos).sum() == int(closed)
        assert mask[1:].all()


def test_a_completion_is_learned_to_its_end_and_its_prompt_is_not(folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders["base"])
    marker = Marker("prompt_completion", {"prompt": "p", "completion": "c"}, tokenizer, None, "assistant")
    marked = marker.mark(Row("x.jsonl", 1, {"p": "How long? ", "c": "Four, of course."}))
    ids, mask = tokens_of(marked, tokenizer.encode(marked.text))
    assert tokenizer.decode(ids[mask == 1].tolist()) == "Four, of course.</s>"


def test_conversational_completions_learn_only_the_completion(folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders["chatml"])
    columns = {"prompt": "prompt", "completion": "completion"}
    marker = Marker("prompt_completion", columns, tokenizer, tokenizer.template("model"), "assistant")
    row = Row("x.jsonl", 1, {"prompt": turns("Hi", "Hello", "More"), "completion": [turns("", "Yes")[1]]})
    assert isinstance(marker.example(row), Conversation)
    marked = marker.mark(row)
    assert [marked.text[start:end] for start, end in marked.spans] == ["Yes<|im_end|>"]


def test_our_own_templates_mark_answers_and_their_ends(folders: dict[str, Path]) -> None:
    assert learned_text(folders["chatml"], CONVERSATIONS["one"], template="chatml") == ["Four, of course.<|im_end|>"]
    marked, ids, _, tokenizer = mark(folders["base"], CONVERSATIONS["one"], template="plain")
    assert [marked.text[start:end] for start, end in marked.spans] == ["Four, of course.</s>"]
    assert ids[0] == tokenizer.bos and (ids == tokenizer.bos).sum() == 1


def test_the_rows_shape_does_not_matter(folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders["chatml"])
    template = tokenizer.template("model")
    rows = {
        "messages": (chat("Hi\n\nthere", "Hello", system="Brief."), {"messages": "messages"}),
        "sharegpt": (
            {
                "system": "Brief.",
                "conversations": [{"from": "human", "value": "Hi\n\nthere"}, {"from": "gpt", "value": "Hello"}],
            },
            {"messages": "conversations", "role": "from", "content": "value", "system": "system"},
        ),
        "alpaca": (
            {"instruction": "Hi", "input": "there", "output": "Hello", "system": "Brief."},
            {"instruction": "instruction", "input": "input", "output": "output", "system": "system"},
        ),
    }
    texts = {
        name: Marker(name, columns, tokenizer, template, "assistant").mark(Row("x", 1, values)).text
        for name, (values, columns) in rows.items()
    }
    assert len(set(texts.values())) == 1
