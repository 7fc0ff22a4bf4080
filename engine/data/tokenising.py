"""One dataset of a recipe, from its files to its tokens in the cache; a cache that fits is used as it is."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types

from engine.data.examples import RowUnusable
from engine.data.formats import SAMPLE_ROWS, Detection, detect, require_trainable
from engine.data.identity import ContentHashes, Progress
from engine.data.issues import flags_of
from engine.data.marking import Marked, Marker, needs_template, tokens_of
from engine.data.reading import Listing, first_rows, list_files, read_rows
from engine.data.rows import AnyRow, Row
from engine.data.store import StoreWriter, TokenStore, remove_left_overs
from engine.data.tokenizer import TextTokenizer
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import DatasetRef, ResolvedRecipe

CODE_VERSION = 1
"""Raise it whenever the same files would become other tokens: old caches are then left alone and made anew."""

BATCH_ROWS = 256


@dataclass(frozen=True)
class Source:
    """A dataset that has been looked at: its files, its format, and what marks its rows."""

    listing: Listing
    detection: Detection
    marker: Marker
    sample: tuple[Row, ...]


@dataclass(frozen=True)
class Look:
    """The files, the first rows (`complete`: there are no more) and the format in force."""

    listing: Listing
    rows: list[AnyRow]
    complete: bool
    detection: Detection

    @property
    def readable(self) -> list[Row]:
        """The rows that could be read."""
        return [row for row in self.rows if isinstance(row, Row)]


def look_at(dataset: DatasetRef) -> Look:
    """Read just enough to know what a dataset is. Raises SurroundingsError."""
    listing = list_files(Path(dataset.path))
    rows, complete = first_rows(listing, SAMPLE_ROWS)
    readable = [row for row in rows if isinstance(row, Row)]
    return Look(listing, rows, complete, detect(readable, dataset.format, dataset.columns))


def open_source(dataset: DatasetRef, recipe: ResolvedRecipe, tokenizer: TextTokenizer) -> Source:
    """Ready to mark rows. Raises SurroundingsError where format, tokenizer or template do not do."""
    look = look_at(dataset)
    detection, readable = look.detection, look.readable
    format_ = require_trainable(detection, str(dataset.path))
    template = None
    if needs_template(format_.name, readable, detection.mapping):
        template = tokenizer.template(recipe.chat_template)
    marker = Marker(format_.name, detection.mapping, tokenizer, template, recipe.loss_on)
    return Source(look.listing, detection, marker, tuple(readable))


def tokenise(source: Source, cache: Path, hashes: ContentHashes, progress: Progress) -> TokenStore:
    """The tokens of the dataset, from the cache or made now. Raises SurroundingsError, OSError."""
    recipe = _cache_recipe(source, hashes, progress)
    folder = cache / hashlib.sha256(msgspec.json.encode(recipe, order="deterministic")).hexdigest()[:32]
    stored = _open_stored(folder)
    if stored is not None:
        return stored
    cache.mkdir(parents=True, exist_ok=True)
    remove_left_overs(cache)
    marker = source.marker
    total = _estimate_rows(source)
    with StoreWriter(folder) as writer:
        done = 0
        for batch in _batches(read_rows(source.listing)):
            _tokenise_batch(batch, marker, writer)
            done += len(batch)
            progress("tokenising", done, max(total, done) if total else 0, "rows")
        progress("tokenising", done, done, "rows")
        return writer.finish(recipe, marker.format, splittable=marker.format == "text")


def _open_stored(folder: Path) -> TokenStore | None:
    if not folder.is_dir():
        return None
    try:
        return TokenStore(folder)
    except (OSError, ValueError, msgspec.DecodeError):
        # A cache that something else damaged is worth nothing; the files that it was made from are still there.
        shutil.rmtree(folder)
        return None


def _batches(rows: Iterator[AnyRow]) -> Iterator[list[AnyRow]]:
    while batch := list(islice(rows, BATCH_ROWS)):
        yield batch


def _tokenise_batch(batch: list[AnyRow], marker: Marker, writer: StoreWriter) -> None:
    marked = [_mark(row, marker) for row in batch]
    encoded = iter(marker.tokenizer.encode_many([item.text for item in marked if isinstance(item, Marked)]))
    for row, item in zip(batch, marked, strict=True):
        if isinstance(item, RowUnusable):
            writer.add_left_out(row.file, row.line, flags_of((item.code,)), item.reason)
            continue
        ids, mask = tokens_of(item, next(encoded))
        if ids.size < 2 or not mask[1:].any():
            writer.add_left_out(row.file, row.line, flags_of((*item.issues, "empty")), "Nothing to predict.")
            continue
        writer.add(row.file, row.line, flags_of(item.issues), ids, mask)


def _mark(row: AnyRow, marker: Marker) -> Marked | RowUnusable:
    try:
        return marker.mark(row)
    except RowUnusable as unusable:
        return unusable
    except SurroundingsError as error:
        error.where = f"{row.file}:{row.line}"
        raise


def _cache_recipe(source: Source, hashes: ContentHashes, progress: Progress) -> dict[str, object]:
    marker = source.marker
    return {
        "code_version": CODE_VERSION,
        "files": [list(pair) for pair in hashes.listing(source.listing, progress)],
        "format": marker.format,
        "columns": dict(marker.columns),
        "tokenizer": marker.tokenizer.hash,
        "template": marker.template.hash if marker.template else "none",
        "loss_on": marker.loss_on,
    }


def _estimate_rows(source: Source) -> int:
    """For the progress bar only: from the size of the first rows. 0 where there is nothing to go by."""
    files = source.listing.files
    if all(file.suffix.lower() == ".parquet" for file in files):
        try:
            return sum(pq.read_metadata(file).num_rows for file in files)
        except (OSError, ValueError):
            return 0
    sample = [len(msgspec.json.encode(row.values, enc_hook=str)) for row in source.sample]
    size = sum(file.stat().st_size for file in files)
    return round(size * len(sample) / sum(sample)) if sum(sample) else 0
