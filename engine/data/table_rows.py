"""Rows of tables: csv (by whichever separator) and parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types

from engine.data.rows import AnyRow, BadRow, Row
from engine.data.text_files import find_encoding, is_text, open_text

SEPARATORS = (",", ";", "\t", "|")
PARQUET_BATCH_ROWS = 256
CELL_CHARACTERS = 1 << 27


def read_csv(path: Path, name: str) -> Iterator[AnyRow]:
    """One row a record; the first record names the columns. The separator is the one that its line has most of."""
    with open_text(path, find_encoding(path)) as file:
        yield from _records(file, name, "\t" if path.suffix.lower() == ".tsv" else None)


def _records(file: TextIO, name: str, separator: str | None) -> Iterator[AnyRow]:
    csv.field_size_limit(CELL_CHARACTERS)
    first = file.readline()
    if not first.strip():
        if first:
            yield BadRow(name, 1, "The first line should name the columns, and is empty.")
        return
    separator = separator or max(SEPARATORS, key=first.count)
    file.seek(0)
    reader = csv.reader(file, delimiter=separator, strict=True)
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield BadRow(name, line, f"Not a valid csv record: {error}.")
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
        elif cells:
            yield _record(header, cells, name, line)


def _record(header: list[str], cells: list[str], name: str, line: int) -> AnyRow:
    if len(cells) != len(header):
        return BadRow(name, line, f"{len(cells)} cells where the header names {len(header)} columns.")
    if not all(is_text(cell) for cell in cells):
        return BadRow(name, line, "The row holds bytes that are not UTF-8 text.")
    return Row(name, line, dict(zip(header, cells, strict=True)))


def read_parquet(path: Path, name: str) -> Iterator[AnyRow]:
    """One row a record, a batch in memory at a time. `line` is the number of the row."""
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=PARQUET_BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(name, number, values)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        yield BadRow(name, number + 1, f"The parquet file cannot be read from here on: {reason}")
