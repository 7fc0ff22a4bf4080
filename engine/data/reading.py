"""From a path (a file, or a folder of files of any mixture) to rows, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.data.json_rows import read_json, read_json_lines
from engine.data.rows import AnyRow, BadRow, Row
from engine.data.table_rows import read_csv, read_parquet
from engine.data.text_files import find_encoding, is_text, open_text
from engine.protocol.errors import SurroundingsError

SECTION_CHARACTERS = 8_000
"""A text file is handed on in sections of about this size, so that it can be previewed, split and read as a stream."""

Reader = Callable[[Path, str], Iterator[AnyRow]]


def read_text(path: Path, name: str) -> Iterator[AnyRow]:
    """Sections of a text file, cut at a blank line where there is one. All but the last `continue` into the next."""
    waiting: Row | None = None
    with open_text(path, find_encoding(path)) as file:
        for line, section in _sections(file):
            if not is_text(section):
                yield BadRow(name, line, "The section that starts here holds bytes that are not UTF-8 text.")
                continue
            if waiting is not None:
                yield Row(name, waiting.line, waiting.values, continues=True)
            waiting = Row(name, line, {"text": section})
    if waiting is not None:
        yield waiting


def _sections(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    size = start = 0
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n") + "\n" if raw.endswith(("\r", "\n")) else raw
        if not parts and not line.strip():
            continue
        start = start if parts else number
        parts.append(line)
        size += len(line)
        if (size >= SECTION_CHARACTERS and not line.strip()) or size >= 4 * SECTION_CHARACTERS:
            yield start, "".join(parts)
            parts, size = [], 0
    if parts:
        yield start, "".join(parts).rstrip("\n")


READERS: dict[str, Reader] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".txt": read_text,
    ".md": read_text,
}


@dataclass(frozen=True)
class Listing:
    """The files of a dataset in reading order, and those that are left out because nothing here reads them."""

    root: Path
    files: tuple[Path, ...]
    skipped: tuple[str, ...]

    def name(self, file: Path) -> str:
        """The file as rows name it: relative to the root, with forward slashes."""
        return file.relative_to(self.root).as_posix()


def list_files(path: Path) -> Listing:
    """What there is to read at `path`. Raises SurroundingsError where there is nothing."""
    if not path.exists():
        raise SurroundingsError(
            "dataset_missing", f"There is no file or folder {path}.", "Choose the dataset again.", path=str(path)
        )
    if path.is_file():
        if path.suffix.lower() not in READERS:
            raise SurroundingsError(
                "dataset_kind_unknown",
                f"{path.name} is not a kind of file that can be read.",
                f"Use one of: {', '.join(sorted(READERS))}.",
                path=str(path),
            )
        return Listing(path.parent, (path,), ())
    found = sorted(
        item
        for item in path.rglob("*")
        if item.is_file() and not any(part.startswith(".") for part in item.relative_to(path).parts)
    )
    files = tuple(item for item in found if item.suffix.lower() in READERS)
    if not files:
        raise SurroundingsError(
            "dataset_empty",
            f"The folder {path} holds no file that can be read.",
            f"Put files of these kinds into it: {', '.join(sorted(READERS))}.",
            path=str(path),
        )
    skipped = tuple(item.relative_to(path).as_posix() for item in found if item.suffix.lower() not in READERS)
    return Listing(path, files, skipped)


def read_rows(listing: Listing) -> Iterator[AnyRow]:
    """All rows, file by file. A file that cannot be opened is one bad row; the others go on. Raises nothing else."""
    for file in listing.files:
        name = listing.name(file)
        try:
            yield from READERS[file.suffix.lower()](file, name)
        except (OSError, UnicodeError) as error:
            yield BadRow(name, 1, f"The file cannot be read: {error}")


def first_rows(listing: Listing, count: int) -> tuple[list[AnyRow], bool]:
    """The first rows of every file in turn, so that a folder's preview shows more than its first file.

    Also whether these are all there are.
    """
    readers = [READERS[file.suffix.lower()](file, listing.name(file)) for file in listing.files[:64]]
    share = max(1, count // len(readers))
    rows: list[AnyRow] = []
    complete = len(readers) == len(listing.files)
    for file, reader in zip(listing.files, readers, strict=False):
        try:
            found = list(islice(reader, share + 1))
            complete = complete and len(found) <= share
            rows.extend(found[:share])
        except (OSError, UnicodeError) as error:
            rows.append(BadRow(listing.name(file), 1, f"The file cannot be read: {error}"))
    return rows[:count], complete and len(rows) <= count
