"""Where the tokens of a row lie: runs of text wrapped into lines, with folds. No painting, no Qt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    """One token as it is trained on: its text and id; whether it is in the loss, and its weight there."""

    text: str
    id: int
    trained: bool = False
    special: bool = False
    cut: bool = False
    weight: float = 1.0

    @property
    def visible(self) -> str:
        """The text with line ends made visible."""
        return self.text.replace("\r\n", "↵").replace("\n", "↵").replace("\t", "⇥") or "∅"


@dataclass(frozen=True)
class Fold:
    """Tokens `start` to `end` (exclusive) shown as one line that says what is folded."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Box:
    """A token, or a fold (`fold` set), at `x` on `line`, `width` px wide."""

    index: int
    x: float
    line: int
    width: float
    text: str
    fold: Fold | None = None


def lay_out(
    tokens: Sequence[Token],
    folds: Sequence[Fold],
    width: float,
    measure: Callable[[str], float],
    word: Callable[[Token], str],
) -> list[Box]:
    """Boxes in reading order. A line ends where it is full, and after the line end that follows a special token."""
    boxes: list[Box] = []
    starts = {fold.start: fold for fold in folds}
    x, line, index = 0.0, 0, 0
    while index < len(tokens):
        fold = starts.get(index)
        if fold is not None:
            line += 1 if x else 0
            boxes.append(Box(index, 0.0, line, width, fold.label, fold))
            x, line, index = 0.0, line + 1, fold.end
            continue
        text = word(tokens[index])
        wide = measure(text) + (6 if tokens[index].special else 1)
        if x and x + wide > width:
            x, line = 0.0, line + 1
        boxes.append(Box(index, x, line, min(wide, width), text))
        x += wide
        if index and tokens[index - 1].special and tokens[index].text.strip(" ") == "\n":
            x, line = 0.0, line + 1
        index += 1
    return boxes
