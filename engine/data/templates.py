"""Chat templates: strangers' code, rendered in a cage (`sandbox`) as Hugging Face renders it, under limits."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import jinja2

from engine.data.examples import Message
from engine.data.limits import processor_time_limit
from engine.data.sandbox import new_sandbox, unused_characters
from engine.protocol.errors import SurroundingsError

OUTPUT_CHARACTERS = 1 << 24
Span = tuple[int, int]


@dataclass(frozen=True)
class Rendered:
    """Rendered text, and the character spans [start, end) that `{% generation %}` blocks produced."""

    text: str
    generations: tuple[Span, ...]


class TemplateRefused(Exception):
    """The template does not take these messages; the text is its own complaint."""


class ChatTemplate:
    """A compiled template. `name` says where it comes from: "model", "chatml" or "plain"."""

    def __init__(self, name: str, source: str, special_tokens: Mapping[str, str]) -> None:
        """Raises SurroundingsError("template_broken") where the template is not valid jinja."""
        self.name = name
        self.source = source
        self.special_tokens = dict(special_tokens)
        self.hash = hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()
        self._sandbox = new_sandbox()
        self._marks_turns = "generation" in source
        try:
            with processor_time_limit():
                self._template = self._sandbox.from_string(source)
        except (jinja2.exceptions.TemplateError, RecursionError) as error:
            raise _broken(error) from None

    def render(
        self, messages: list[Message], *, tools: list[object] | None = None, add_generation_prompt: bool = False
    ) -> Rendered:
        """The conversation as text. Raises TemplateRefused for what concerns this conversation, and SurroundingsError
        for a template that is broken, hostile, too slow (see `limits`) or too large."""
        if self._marks_turns:
            start, end = unused_characters(json.dumps([messages, tools], ensure_ascii=False, default=str), 2)
            self._sandbox.marks = (start, end)
        try:
            with processor_time_limit():
                marked = self._text(messages, tools, add_generation_prompt)
        except jinja2.exceptions.TemplateNotFound as error:
            raise _broken(error) from None  # include, import and extends: there is nothing else to load
        except jinja2.exceptions.SecurityError as error:
            raise SurroundingsError(
                "template_forbidden",
                f"The chat template does something that templates may not do: {error}",
                "Do not use this model's template: choose another chat template or another model.",
            ) from None
        except (jinja2.exceptions.TemplateError, TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            # A template's own complaint and its stumbling over this conversation are one thing to the user.
            raise TemplateRefused(str(error) or type(error).__name__) from None
        except (MemoryError, RecursionError, OverflowError) as error:
            raise _too_large(type(error).__name__) from None
        return _unmark(marked, *self._sandbox.marks) if self._marks_turns else Rendered(marked, ())

    def _text(self, messages: list[Message], tools: list[object] | None, add_generation_prompt: bool) -> str:
        parts: list[str] = []
        size = 0
        for part in self._template.generate(
            messages=_with_reasoning(messages),
            tools=tools,
            documents=None,
            add_generation_prompt=add_generation_prompt,
            **self.special_tokens,
        ):
            parts.append(part)
            size += len(part)
            if size > OUTPUT_CHARACTERS:
                raise _too_large(f"more than {OUTPUT_CHARACTERS:,} characters")
        return "".join(parts)


def _with_reasoning(messages: list[Message]) -> list[Message]:
    """Reasoning under the two names that templates read; a copy each, so that no rendering changes the next."""
    copies: list[Message] = []
    for message in messages:
        copy = dict(message)
        if "reasoning_content" in copy:
            copy.setdefault("thinking", copy["reasoning_content"])
        copies.append(copy)
    return copies


def _broken(error: Exception) -> SurroundingsError:
    return SurroundingsError(
        "template_broken",
        f"The model's chat template is not valid: {error}",
        "Choose another chat template (ChatML or plain text).",
    )


def _too_large(what: str) -> SurroundingsError:
    return SurroundingsError(
        "template_too_large",
        f"The chat template used more memory than it may ({what}).",
        "Do not use this model's template: choose another chat template or another model.",
    )


def _unmark(marked: str, start: str, end: str) -> Rendered:
    parts: list[str] = []
    spans: list[Span] = []
    opened: list[int] = []
    position = 0
    for piece in re.split(f"([{start}{end}])", marked):
        if piece == start:
            opened.append(position)
        elif piece == end:
            if not opened:
                raise _broken(ValueError("a generation block closes that never opened"))
            spans.append((opened.pop(), position))
        else:
            parts.append(piece)
            position += len(piece)
    if opened:
        raise _broken(ValueError("a generation block never closes"))
    return Rendered("".join(parts), tuple(sorted(spans)))
