"""An example as text with the parts to learn marked, and that as token ids with a mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.data.examples import CONVERTERS, Columns, Conversation, Example, Passage, RowUnusable
from engine.data.masking import learned_spans
from engine.data.rows import AnyRow, BadRow, Row
from engine.data.templates import ChatTemplate, Span
from engine.data.tokenizer import Encoded, TextTokenizer

TokenIds = npt.NDArray[np.int32]
TokenMask = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Marked:
    """Text to tokenise. `begin` and `end` are tokens of ours around it; `issues` are codes."""

    text: str
    spans: tuple[Span, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    issues: tuple[str, ...]


@dataclass(frozen=True)
class Shape:
    """How rows of one dataset are to be understood: enough to show them without a tokenizer."""

    format: str
    columns: Columns

    def example(self, row: Row) -> Example:
        """The row as a conversation or a passage. Raises RowUnusable."""
        return CONVERTERS[self.format](row, self.columns)


@dataclass(frozen=True)
class Marker(Shape):
    """What turns rows of one dataset into marked text: the same for the inspector and for training."""

    tokenizer: TextTokenizer
    template: ChatTemplate | None
    loss_on: str

    def mark(self, row: AnyRow) -> Marked:
        """Raises RowUnusable for a row that is left out, SurroundingsError for a template that cannot go on."""
        if isinstance(row, BadRow):
            raise RowUnusable("malformed", row.reason)
        example = self.example(row)
        if isinstance(example, Passage):
            return self._passage(example)
        if self.template is None:
            raise RowUnusable("wrong_shape", "The row is a conversation among texts.")
        learned = learned_spans(example, self.template, self.tokenizer, self.loss_on)
        # The template has written whatever begins and ends a conversation: nothing is added to it.
        return Marked(learned.text, learned.spans, (), (), learned.issues)

    def _passage(self, passage: Passage) -> Marked:
        tokenizer, text = self.tokenizer, passage.text
        begin: tuple[int, ...] = ()
        end: tuple[int, ...] = ()
        if (
            tokenizer.bos is not None
            and tokenizer.adds_bos
            and not text.startswith(tokenizer.special_tokens["bos_token"])
        ):
            begin = (tokenizer.bos,)
        if passage.closed and tokenizer.eos is not None and not text.endswith(tokenizer.special_tokens["eos_token"]):
            end = (tokenizer.eos,)
        start = 0 if self.loss_on == "all" else passage.learn_from
        issues = ("control_tokens",) if tokenizer.holds_control_token(text) else ()
        return Marked(text, ((start, len(text)),), begin, end, issues)


def needs_template(format_name: str, rows: list[Row], columns: Columns) -> bool:
    """Whether rows of this format are conversations, so that a chat template has to be there."""
    if format_name == "prompt_completion":
        return any(isinstance(_try(row, format_name, columns), Conversation) for row in rows)
    return format_name != "text"


def _try(row: Row, format_name: str, columns: Columns) -> Example | None:
    try:
        return CONVERTERS[format_name](row, columns)
    except RowUnusable:
        return None


def tokens_of(marked: Marked, encoded: Encoded) -> tuple[TokenIds, TokenMask]:
    """(ids i32[n], mask u8[n]): a token is learned if any of its characters lies in a span, as transformers has it."""
    count = len(encoded.ids)
    ids = np.empty(len(marked.begin) + count + len(marked.end), np.int32)
    mask = np.zeros(ids.size, np.uint8)
    first, last = len(marked.begin), len(marked.begin) + count
    ids[:first], ids[first:last], ids[last:] = marked.begin, encoded.ids, marked.end
    mask[last:] = 1
    if marked.spans and count:
        offsets = np.asarray(encoded.offsets, np.int64)
        spans = np.asarray(marked.spans, np.int64)
        nearest = np.searchsorted(spans[:, 1], offsets[:, 0], side="right")
        starts = np.append(spans[:, 0], np.iinfo(np.int64).max)[nearest]
        mask[first:last] = offsets[:, 1] > starts
    return ids, mask
