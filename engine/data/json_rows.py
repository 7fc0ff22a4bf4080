"""Rows of JSON: one object a line, one array of objects, or one object of columns.

The array is read as a stream, so that a preview of a large file is quick and a broken element costs that element only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from engine.data.rows import AnyRow, BadRow, Row
from engine.data.text_files import find_encoding, is_text, open_text

CHUNK_CHARACTERS = 1 << 20
WHOLE_FILE_BYTES = 1 << 29
"""An object of columns has to be read whole; beyond this size it is refused with the way out."""

_BLANK = re.compile(r"[\s,]*")
_FIRST_KEY = re.compile(r'\{\s*"((?:[^"\\]|\\.)*)"')
_CONVERSATION_KEYS = frozenset({"messages", "conversations", "conversation"})


def read_json_lines(path: Path, name: str) -> Iterator[AnyRow]:
    """One row a line; blank lines are skipped."""
    with open_text(path, find_encoding(path)) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield parse_line(line, name, number)


def parse_line(line: str, name: str, number: int) -> AnyRow:
    """A line of JSON lines as a row, or what is wrong with it."""
    if not is_text(line):
        return BadRow(name, number, "The line holds bytes that are not UTF-8 text.")
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return BadRow(name, number, f"Not valid JSON: {error.msg} at character {error.colno}.")
    except RecursionError:
        return BadRow(name, number, "JSON nested too deeply to read.")
    return _as_row(value, name, number)


def _as_row(value: object, name: str, number: int) -> AnyRow:
    if not isinstance(value, dict):
        return BadRow(name, number, f"Expected a JSON object with named fields, found {_kind(value)}.")
    return Row(name, number, value)


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)


def read_json(path: Path, name: str) -> Iterator[AnyRow]:
    """A `.json` file of whichever shape it has: array, JSON lines under the wrong name, columns, or one row."""
    encoding = find_encoding(path)
    with open_text(path, encoding) as file:
        head = file.read(CHUNK_CHARACTERS)
    start = head.lstrip()
    if not start:
        return
    if start[0] == "[":
        with open_text(path, encoding) as file:
            yield from _ArrayReader(file, name).rows()
    elif _looks_like_lines(start):
        yield from read_json_lines(path, name)
    else:
        yield from _read_object(path, name)


def _looks_like_lines(start: str) -> bool:
    first, _, rest = start.partition("\n")
    if not rest.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (json.JSONDecodeError, RecursionError):
        # A broken first line of a file whose every line opens an object is still a file of lines.
        return first.rstrip().endswith("}") and first.count("{") >= 1


def _read_object(path: Path, name: str) -> Iterator[AnyRow]:
    if path.stat().st_size > WHOLE_FILE_BYTES:
        yield BadRow(name, 1, "A JSON object of this size must be read whole. Save it as JSON lines (.jsonl).")
        return
    with open_text(path, find_encoding(path)) as file:
        text = file.read()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        yield BadRow(name, error.lineno, f"Not valid JSON: {error.msg} at character {error.colno}.")
        return
    except RecursionError:
        yield BadRow(name, 1, "JSON nested too deeply to read.")
        return
    yield from _object_rows(value, name)


def _object_rows(value: dict[str, object], name: str) -> Iterator[AnyRow]:
    lists = {key: item for key, item in value.items() if isinstance(item, list)}
    row_lists = [key for key, item in lists.items() if item and all(isinstance(entry, dict) for entry in item)]
    if lists and len(lists) == len(value) and not row_lists:
        lengths = {len(item) for item in lists.values()}
        if len(lengths) > 1:
            yield BadRow(name, 1, "The columns of this object have different lengths.")
            return
        for number in range(lengths.pop()):
            yield Row(name, number + 1, {key: item[number] for key, item in lists.items()})
    elif len(row_lists) == 1 and row_lists[0] not in _CONVERSATION_KEYS:
        for number, entry in enumerate(lists[row_lists[0]], start=1):
            yield _as_row(entry, name, number)
    else:
        yield Row(name, 1, value)


class _ArrayReader:
    """Streams the elements of one JSON array, a chunk of text at a time."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file = file
        self._name = name
        self._buffer = ""
        self._position = 0
        self._line = 1
        self._ended = False
        self._decoder = json.JSONDecoder()

    def rows(self) -> Iterator[AnyRow]:
        self._fill()
        self._position = self._buffer.index("[") + 1
        while True:
            self._skip_blank()
            if self._position >= len(self._buffer):
                yield BadRow(self._name, self._line_here(), "The file ends inside the array: its last ] is missing.")
                return
            if self._buffer[self._position] == "]":
                return
            yield self._element()
            self._drop_read()

    def _element(self) -> AnyRow:
        while True:
            line = self._line_here()
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                if not self._ended and _may_be_cut(error, len(self._buffer)):
                    self._fill()
                    continue
                return self._skip_broken(error)
            except RecursionError:
                self._position = len(self._buffer)
                return BadRow(self._name, line, "JSON nested too deeply to read.")
            if end >= len(self._buffer) and not self._ended:
                self._fill()
                continue
            text = self._buffer[self._position : end]
            self._position = end
            if not is_text(text):
                return BadRow(self._name, line, "The row holds bytes that are not UTF-8 text.")
            return _as_row(value, self._name, line)

    def _skip_broken(self, error: json.JSONDecodeError) -> BadRow:
        """Go on at the next element that opens with the same first key: nested objects open with others."""
        line = self._line + self._buffer.count("\n", 0, error.pos)
        first = _FIRST_KEY.match(self._buffer, self._position)
        pattern = re.compile(r'\{\s*"' + re.escape(first.group(1)) + '"') if first else re.compile(r"\{")
        search_from = self._position + 1
        while True:
            found = pattern.search(self._buffer, search_from)
            if found:
                self._position = found.start()
                break
            if self._ended:
                closing = self._buffer.rstrip()
                self._position = len(closing) - 1 if closing.endswith("]") else len(self._buffer)
                break
            search_from = max(search_from, len(self._buffer) - 4096)
            self._fill()
        return BadRow(self._name, line, f"Not valid JSON: {error.msg}.")

    def _skip_blank(self) -> None:
        while True:
            blank = _BLANK.match(self._buffer, self._position)
            self._position = blank.end() if blank else self._position
            if self._position < len(self._buffer) or self._ended:
                return
            self._fill()

    def _fill(self) -> None:
        # Twice the buffer each time, so that one very long element is not decoded again for every chunk.
        more = self._file.read(max(CHUNK_CHARACTERS, len(self._buffer)))
        self._ended = not more
        self._buffer += more

    def _drop_read(self) -> None:
        if self._position >= CHUNK_CHARACTERS // 4:
            self._line += self._buffer.count("\n", 0, self._position)
            self._buffer = self._buffer[self._position :]
            self._position = 0

    def _line_here(self) -> int:
        return self._line + self._buffer.count("\n", 0, self._position)


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    """Whether the error may only mean that the buffer ends inside the element."""
    return error.msg.startswith("Unterminated string") or error.pos >= length - 16
