"""Greedy answers by the model as it stands: prefill the prompt in chunks, then decode token by token on the caches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.data.templates import TemplateRefused
from engine.data.tokenizer import TextTokenizer
from engine.graph.persistent import (
    CACHE_LENGTH,
    DECODE_IDS,
    DECODE_POSITIONS,
    LAST_ROW,
    LOGITS,
    PREFILL_IDS,
    PREFILL_POSITIONS,
)
from engine.protocol.errors import SurroundingsError
from engine.training.executor import AnyArray, Executor

Tick = Callable[[], None]


@dataclass(frozen=True)
class Prompter:
    """Turns a question into the tokens that the model expects before its answer.

    `template` is the recipe's choice; None: the model knows no conversations, and the text is continued as it is.
    """

    tokenizer: TextTokenizer
    template: str | None

    def text(self, prompt: str) -> str:
        """The prompt as the model sees it. Raises SurroundingsError("prompt_refused")."""
        if self.template is None:
            return prompt
        message: dict[str, object] = {"role": "user", "content": prompt}
        try:
            return self.tokenizer.template(self.template).render([message], add_generation_prompt=True).text
        except TemplateRefused as complaint:
            raise SurroundingsError(
                "prompt_refused",
                f"The chat template refuses the prompt: {complaint}",
                "Change the prompt or the template.",
            ) from None

    def ids(self, prompt: str) -> list[int]:
        """The prompt as tokens. Raises SurroundingsError("empty_prompt") where there are none."""
        ids = self.tokenizer.encode(self.text(prompt)).ids
        if self.template is None and self.tokenizer.adds_bos and self.tokenizer.bos is not None:
            ids = [self.tokenizer.bos, *ids]
        if not ids:
            raise SurroundingsError("empty_prompt", "The prompt is empty.", "Write a prompt.")
        return ids


def prompter(tokenizer: TextTokenizer, template: str) -> Prompter:
    """The prompter of a recipe's template choice; a model without a template of its own continues plain text."""
    has_none = template == "model" and tokenizer.model_template is None
    return Prompter(tokenizer, None if has_none else template)


def end_tokens(folder: Path, tokenizer: TextTokenizer) -> frozenset[int]:
    """The tokens that end an answer: generation_config.json's, config.json's, and the tokenizer's own."""
    found = set() if tokenizer.eos is None else {tokenizer.eos}
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        if not path.is_file():
            continue
        value = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id")
        found.update(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, int))
    return frozenset(found)


@dataclass(frozen=True)
class Generator:
    """`context` tokens fit the caches, prompts are read `prefill_tokens` at a time. `tick` is called for each token."""

    executor: Executor
    end: frozenset[int]
    context: int
    prefill_tokens: int
    tick: Tick

    def first_logits(self, ids: list[int]) -> AnyArray:
        """Read a prompt; f32[V], the logits of the token after it. Raises SurroundingsError("prompt_too_long")."""
        if len(ids) > self.context:
            raise SurroundingsError(
                "prompt_too_long",
                f"The prompt has {len(ids)} tokens; {self.context} are planned for.",
                "Shorten the prompt.",
            )
        for start in range(0, len(ids), self.prefill_tokens):
            self.tick()
            chunk = ids[start : start + self.prefill_tokens]
            padded = np.zeros(self.prefill_tokens, np.int32)
            padded[: len(chunk)] = chunk
            positions = np.arange(start, start + self.prefill_tokens, dtype=np.int32)
            self.executor.write(PREFILL_IDS, padded)
            self.executor.write(PREFILL_POSITIONS, positions)
            self._write_number(CACHE_LENGTH, start)
            self._write_number(LAST_ROW, len(chunk) - 1)
            self.executor.run("prefill")
        return self.executor.read(LOGITS).reshape(-1)

    def next_logits(self, token: int, position: int) -> AnyArray:
        """Append one token at `position`; f32[V], the logits of the one after it."""
        self.tick()
        self._write_number(DECODE_IDS, token)
        self._write_number(DECODE_POSITIONS, position)
        self._write_number(CACHE_LENGTH, position)
        self.executor.run("decode")
        return self.executor.read(LOGITS).reshape(-1)

    def stream(self, ids: list[int], limit: int) -> Iterator[int]:
        """The likeliest continuation, at most `limit` tokens; ends before an end token or where the caches are full."""
        logits = self.first_logits(ids)
        for position in range(len(ids), len(ids) + limit):
            token = int(np.argmax(logits))
            if token in self.end:
                return
            yield token
            if position + 1 == len(ids) + limit or position == self.context:
                return
            logits = self.next_logits(token, position)

    def _write_number(self, name: str, value: int) -> None:
        self.executor.write(name, np.array([value], np.int32))
