"""A model folder's tokenizer, without transformers: `tokenizer.json`, its special tokens and its chat template."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers

from engine.data import defaults
from engine.data.templates import ChatTemplate
from engine.protocol.errors import SurroundingsError

_SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclass(frozen=True)
class Encoded:
    """Token ids, and for each token the characters [start, end) of the text that it stands for."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class TextTokenizer:
    """Text to ids. Nothing is added unless asked for, so a template that writes its own first token gets no second.

    `special_tokens` are those of the configuration by key; `model_template` is the model's own chat template or None.
    `adds_bos` says whether texts of this model begin with its `bos` token.
    """

    def __init__(
        self,
        tokenizer: tokenizers.Tokenizer,
        special_tokens: Mapping[str, str],
        model_template: str | None,
        adds_bos: bool | None,
        content_hash: str,
    ) -> None:
        """`adds_bos` None: as the tokenizer itself does. `content_hash` stands for the tokenizer's file."""
        tokenizer.no_truncation()  # a tokenizer.json may carry either; both would change what is trained
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.special_tokens = dict(special_tokens)
        self.model_template = model_template
        self.bos = self._id("bos_token")
        self.eos = self._id("eos_token")
        self.pad = self._id("pad_token")
        added = tokenizer.get_added_tokens_decoder()
        self.special_ids = frozenset(number for number, token in added.items() if token.special)
        self.special_texts = tuple(token.content for token in added.values() if token.special)
        self.adds_bos = self.bos is not None and (self._post_processor_adds_bos() if adds_bos is None else adds_bos)
        longest_first = sorted(self.special_texts, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        identity = [content_hash, sorted(self.special_tokens.items()), self.adds_bos]
        self.hash = hashlib.sha256(json.dumps(identity).encode()).hexdigest()

    @property
    def vocabulary_size(self) -> int:
        """Ids, added tokens included."""
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    def _id(self, key: str) -> int | None:
        text = self.special_tokens.get(key)
        return self._tokenizer.token_to_id(text) if text is not None else None

    def _post_processor_adds_bos(self) -> bool:
        return self._tokenizer.encode("a", add_special_tokens=True).ids[:1] == [self.bos]

    def has_token(self, text: str) -> bool:
        """Whether `text` is one token."""
        return self._tokenizer.token_to_id(text) is not None

    def encode_many(self, texts: Sequence[str]) -> list[Encoded]:
        """Each text as tokens; control tokens inside the text are read as such, none are added."""
        return [
            Encoded(item.ids, item.offsets)
            for item in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]

    def encode(self, text: str) -> Encoded:
        """One text, as `encode_many`."""
        return self.encode_many([text])[0]

    def decode(self, ids: Sequence[int]) -> str:
        """Ids as text, control tokens included."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def token_text(self, token: int) -> str:
        """The token's own spelling in the vocabulary."""
        return self._tokenizer.id_to_token(token) or ""

    def holds_control_token(self, text: str) -> bool:
        """Whether the text spells one of the control tokens."""
        return self._control.search(text) is not None

    def ends_with_control_token(self, text: str) -> bool:
        """Whether the text ends with a control token's spelling."""
        return text.endswith(self.special_texts) if self.special_texts else False

    def template(self, choice: str) -> ChatTemplate:
        """The chat template that the recipe's `chat_template` names ("model", "chatml", "plain").

        Raises SurroundingsError where the model lacks what that choice needs.
        """
        if choice == "model":
            if self.model_template is None:
                better = "ChatML" if self._knows_chatml() else "Plain text"
                raise _unfit("no_chat_template", "This model brings no chat template.", f"Choose {better} instead.")
            return ChatTemplate("model", self.model_template, self.special_tokens)
        if choice == "chatml":
            if not self._knows_chatml():
                message = "ChatML needs the tokens <|im_start|> and <|im_end|>, which this model does not have."
                raise _unfit("chatml_tokens_missing", message, "Choose Plain text instead.")
            return ChatTemplate("chatml", defaults.chatml(begins_with_bos=self.adds_bos), self.special_tokens)
        if choice == "plain":
            if self.eos is None:
                message = "This model names no end-of-text token, so that an answer would have no end."
                raise _unfit("no_end_token", message, "Choose another model.")
            return ChatTemplate("plain", defaults.plain(begins_with_bos=self.adds_bos), self.special_tokens)
        raise _unfit("template_unknown", f"There is no chat template {choice!r}.", "Choose model, chatml or plain.")

    def _knows_chatml(self) -> bool:
        return all(self.has_token(text) for text in defaults.CHATML_TOKENS)


def _unfit(code: str, message: str, remedy: str) -> SurroundingsError:
    return SurroundingsError(code, message, remedy, where="chat_template")


def load_tokenizer(folder: Path) -> TextTokenizer:
    """The tokenizer of a model folder. Raises SurroundingsError that says what is missing or broken."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        old = (folder / "tokenizer.model").is_file()
        raise SurroundingsError(
            "tokenizer_model_only" if old else "tokenizer_missing",
            f"{folder} has {'only a tokenizer.model' if old else 'no tokenizer'}; a tokenizer.json is needed.",
            "Choose a repository of this model that holds tokenizer.json.",
            path=str(folder),
        )
    try:
        content = path.read_bytes()
        tokenizer = tokenizers.Tokenizer.from_buffer(content)
    except Exception as error:  # tokenizers raises plain Exception for whatever is wrong with the file
        raise SurroundingsError(
            "tokenizer_broken", f"{path} cannot be read: {error}", "Download the model again.", path=str(path)
        ) from None
    config = _json(folder / "tokenizer_config.json")
    adds_bos = config.get("add_bos_token")
    return TextTokenizer(
        tokenizer,
        _special_tokens(folder, config),
        _chat_template(folder, config),
        adds_bos if isinstance(adds_bos, bool) else None,
        hashlib.sha256(content).hexdigest(),
    )


def _json(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SurroundingsError(
            "tokenizer_broken", f"{path} cannot be read: {error}", "Download the model again.", path=str(path)
        ) from None
    return content if isinstance(content, dict) else {}


def _special_tokens(folder: Path, config: Mapping[str, object]) -> dict[str, str]:
    """By key; `tokenizer_config.json` wins over the older `special_tokens_map.json`."""
    found: dict[str, str] = {}
    for content in (_json(folder / "special_tokens_map.json"), config):
        for key in _SPECIAL:
            value = content.get(key)
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str):
                found[key] = text
    return found


def _chat_template(folder: Path, config: Mapping[str, object]) -> str | None:
    """The default template: a file of its own wins over the configuration, as in transformers."""
    own = folder / "chat_template.jinja"
    if own.is_file():
        return own.read_text(encoding="utf-8")
    for content in (_json(folder / "chat_template.json"), config):
        value = content.get("chat_template")
        if isinstance(value, list):
            named = {item.get("name"): item.get("template") for item in value if isinstance(item, dict)}
            value = named.get("default")
        if isinstance(value, str) and value:
            return value
    return None
