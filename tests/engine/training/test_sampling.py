"""Prompts, end tokens and greedy generation against transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.data.tokenizer import load_tokenizer
from engine.protocol.errors import SurroundingsError
from engine.training.generate_run import pieces
from engine.training.sampling import end_tokens, prompter
from engine.training.served_model import open_answerer, subject_of_model
from tests.helpers.tiny_models import write_tiny_llama, write_tiny_qwen3


def _nothing(*_: object) -> None:
    pass


@pytest.mark.parametrize("write", [write_tiny_llama, write_tiny_qwen3], ids=["llama", "qwen3"])
def test_greedy_answers_are_those_of_transformers(tmp_path: Path, write: Callable[..., Path]) -> None:
    """Prompts shorter and longer than a prefill chunk (64 tokens), of lengths that do and do not fill it."""
    folder = write(tmp_path / "model", scale=0.2)
    prompts = ["The dog", "What is the capital of France? " * 6]
    answerer = open_answerer(subject_of_model(folder), prompts, 20, _nothing, _nothing)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for prompt in prompts:
        ids = answerer.prompter.ids(prompt)
        ours = list(answerer.generator.stream(ids, 20))
        theirs = list(ids)
        with torch.no_grad():
            for _ in range(20):
                token = int(model(torch.tensor([theirs])).logits[0, -1].argmax())
                if token in answerer.generator.end:
                    break
                theirs.append(token)
        assert ours == theirs[len(ids) :]
    assert len(answerer.prompter.ids(prompts[1])) > 64
    answerer.executor.close()


def test_a_prompt_too_long_for_the_model_is_refused(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path / "model")
    with pytest.raises(SurroundingsError) as caught:
        open_answerer(subject_of_model(folder), ["dog " * 300], 4, _nothing, _nothing)
    assert caught.value.code == "prompt_too_long"


def test_an_answer_ends_where_the_caches_are_full(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path / "model", max_position_embeddings=24)
    answerer = open_answerer(subject_of_model(folder), ["dog"], 400, _nothing, _nothing)
    ids = answerer.prompter.ids("dog")
    answer = list(answerer.generator.stream(ids, 400))
    assert answerer.generator.context == 24
    assert len(answer) <= 24 - len(ids) + 1
    answerer.executor.close()


def test_end_tokens_come_from_all_three_places(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path / "model")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 8]}))
    tokenizer = load_tokenizer(folder)
    assert tokenizer.eos == 3
    assert end_tokens(folder, tokenizer) == {3, 7, 8}


def test_a_model_without_a_template_continues_plain_text(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path / "model")
    settings = folder / "tokenizer_config.json"
    content = json.loads(settings.read_text())
    del content["chat_template"]
    settings.write_text(json.dumps(content))
    asks = prompter(load_tokenizer(folder), "model")
    assert asks.text("The dog") == "The dog"


def test_a_template_that_refuses_the_prompt_is_named(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path / "model")
    settings = folder / "tokenizer_config.json"
    content = json.loads(settings.read_text())
    content["chat_template"] = "{{ raise_exception('only in verse') }}"
    settings.write_text(json.dumps(content))
    with pytest.raises(SurroundingsError) as caught:
        prompter(load_tokenizer(folder), "model").text("The dog")
    assert caught.value.code == "prompt_refused"


def test_pieces_never_show_half_a_character(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_tiny_llama(tmp_path / "model"))
    text = "é東🙂 dog"
    found = list(pieces(tokenizer, iter(tokenizer.encode(text).ids)))
    assert "".join(found) == text
    assert all("�" not in piece for piece in found)
