"""Text of unknown encoding: which one it is, and reading it without dying of one bad byte."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

SAMPLE_BYTES = 1 << 16

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Encoding:
    """`name` as Python knows it; `guessed` where the bytes do not settle it and the user should be told."""

    name: str
    guessed: bool = False


def find_encoding(path: Path) -> Encoding:
    """By byte-order mark, else UTF-8 where the first 64 KiB are, else UTF-16 by its zero bytes, else Windows-1252."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name)
    if b"\x00" in sample:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        return Encoding("utf-16-le" if odd > even else "utf-16-be", guessed=True)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError as error:
        # One broken row in a UTF-8 file is that row's problem, not a reason to read every other row wrongly.
        if _mostly_utf8(sample, error.start):
            return Encoding("utf-8")
        return Encoding("cp1252", guessed=True)
    return Encoding("utf-8")


def _mostly_utf8(sample: bytes, first_error: int) -> bool:
    text = sample.decode("utf-8", errors="surrogateescape")
    broken = sum(1 for character in text if "\udc80" <= character <= "\udcff")
    multibyte = sum(1 for character in text if character > "\x7f") - broken
    return multibyte > broken or (first_error > len(sample) // 2 and broken <= 4)


def open_text(path: Path, encoding: Encoding) -> TextIO:
    """Opened with line ends kept as they are; bytes that do not decode become lone surrogates (see `is_text`)."""
    errors = "surrogateescape" if encoding.name.startswith("utf-8") else "replace"
    return path.open("r", encoding=encoding.name, errors=errors, newline="")


def is_text(value: str) -> bool:
    """Whether every character can be written as UTF-8: false for bytes that did not decode and for half emoji."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
