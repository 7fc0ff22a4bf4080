"""A recipe's datasets, ready to train on: the one way in for the trainer and for the worker's statistics.

datasets ─► tokens (cache) ─► usable rows ─► split by seed ─► documents ─► blocks ─► Batches + DataStatistics
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.data.batches import Batches
from engine.data.counting import histogram, repeated, row_issue, shared, split_statistics, stored_issues
from engine.data.documents import Cut, Documents, Rows, content_hashes, cut, usable_rows, weighted
from engine.data.identity import ContentHashes, Progress
from engine.data.packing import Blocks, one_each, pack
from engine.data.permutation import Purpose, permutation
from engine.data.store import TokenStore
from engine.data.templates import ChatTemplate
from engine.data.tokenising import open_source, tokenise
from engine.data.tokenizer import TextTokenizer, load_tokenizer
from engine.protocol.data_messages import DataStatistics, Issue
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import DatasetRef, ResolvedRecipe

Stores = tuple[TokenStore, ...]


@dataclass(frozen=True)
class PreparedData:
    """`evaluation` has no micro-batches where nothing is held out. `template` is None where there are only texts."""

    training: Batches
    evaluation: Batches
    statistics: DataStatistics
    tokenizer: TextTokenizer
    template: ChatTemplate | None


@dataclass(frozen=True)
class _Side:
    """One side of the split: its rows (repeated by weight) out of its stores, cut to documents and packed."""

    stores: Stores
    rows: Rows
    part: Cut
    documents: Documents
    blocks: Blocks


def open_dataset(
    recipe: ResolvedRecipe,
    tokenizer_folder: Path,
    cache_folder: Path,
    progress: Progress,
) -> PreparedData:
    """`prepare` with the tokenizer of a model folder. Raises what it raises and what `load_tokenizer` raises."""
    return prepare(recipe, load_tokenizer(tokenizer_folder), cache_folder, progress, ContentHashes())


def prepare(
    recipe: ResolvedRecipe, tokenizer: TextTokenizer, cache_folder: Path, progress: Progress, hashes: ContentHashes
) -> PreparedData:
    """Tokenise what is not in the cache, split, pack and count. `progress(phase, done, total, unit)` is called often
    and may raise to cancel.

    Raises SurroundingsError where files, format or template do not do or no row is left; OSError.
    """
    sources = [open_source(dataset, recipe, tokenizer) for dataset in recipe.datasets]
    evaluation_sources = [open_source(dataset, recipe, tokenizer) for dataset in recipe.evaluation_datasets]
    stores = tuple(tokenise(source, cache_folder, hashes, progress) for source in sources)
    evaluation_stores = tuple(tokenise(source, cache_folder, hashes, progress) for source in evaluation_sources)
    progress("packing", 0, 0, "rows")
    training_rows, evaluation_rows = _split(recipe, stores, evaluation_stores)
    if not training_rows.count:
        raise _nothing(stores, recipe.datasets)
    everything = usable_rows(stores)
    training_rows = weighted(training_rows, tuple(dataset.weight for dataset in recipe.datasets), recipe.seed)
    training = _side(recipe, stores, training_rows, shuffled=True)
    evaluation = _side(recipe, evaluation_stores or stores, evaluation_rows, shuffled=False)
    if not training.documents.count:
        raise _nothing(stores, recipe.datasets)
    largest = max(training.blocks.largest, evaluation.blocks.largest)
    batches = [
        _batches(recipe, side, tokenizer, largest, shuffled=shuffled)
        for side, shuffled in ((training, True), (evaluation, False))
    ]
    issues = _issues(recipe, stores, everything, training, evaluation, evaluation_stores)
    template = next((source.marker.template for source in sources + evaluation_sources if source.marker.template), None)
    statistics = _statistics(
        recipe,
        (training, evaluation),
        (batches[0], batches[1]),
        issues,
        stores + evaluation_stores,
        tokenizer,
        template,
    )
    return PreparedData(batches[0], batches[1], statistics, tokenizer, template)


def _split(recipe: ResolvedRecipe, stores: Stores, evaluation_stores: Stores) -> tuple[Rows, Rows]:
    """Training and evaluation rows. A held-out share goes by content, so that copies of a row stay on one side."""
    rows = usable_rows(stores)
    if evaluation_stores:
        return rows, usable_rows(evaluation_stores)
    if not recipe.evaluation_fraction or rows.count < 2:
        return rows, rows.take(np.empty(0, np.int64))
    _, first, content = np.unique(content_hashes(stores, rows), return_index=True, return_inverse=True)
    # Contents are numbered by where they first stand, so that the split does not hang on the order of hashes.
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(first.size)
    content = rank[content.reshape(-1)]
    count = min(max(1, round(recipe.evaluation_fraction * first.size)), first.size - 1)
    held_out = np.zeros(first.size, bool)
    held_out[permutation(first.size, recipe.seed, Purpose.SPLIT)[:count]] = True
    return rows.take(np.flatnonzero(~held_out[content])), rows.take(np.flatnonzero(held_out[content]))


def _side(recipe: ResolvedRecipe, stores: Stores, rows: Rows, *, shuffled: bool) -> _Side:
    part = cut(stores, rows, recipe.sequence_length)
    documents = part.documents
    if shuffled:
        documents = documents.take(permutation(documents.count, recipe.seed, Purpose.DOCUMENTS))
    packed = pack(documents.length, recipe.sequence_length) if recipe.packing else one_each(documents.count)
    return _Side(stores, rows, part, documents, packed)


def _batches(
    recipe: ResolvedRecipe, side: _Side, tokenizer: TextTokenizer, max_documents: int, *, shuffled: bool
) -> Batches:
    padding = next((number for number in (tokenizer.pad, tokenizer.eos) if number is not None), 0)
    return Batches(
        side.documents,
        side.blocks,
        sequence_length=recipe.sequence_length,
        micro_batch_size=recipe.micro_batch_size,
        max_documents=max_documents,
        padding_id=padding,
        seed=recipe.seed,
        shuffled=shuffled,
    )


def _issues(
    recipe: ResolvedRecipe,
    stores: Stores,
    everything: Rows,
    training: _Side,
    evaluation: _Side,
    evaluation_stores: Stores,
) -> list[Issue]:
    pools = [(stores, everything, 0), (evaluation_stores, usable_rows(evaluation_stores), len(stores))]
    cuts = [(pool, cut(pool[0], pool[1], recipe.sequence_length)) for pool in pools]
    leaked = shared(evaluation.stores, evaluation.rows, training.stores, training.rows)
    first = len(stores) if evaluation_stores else 0
    return [
        *stored_issues(stores + evaluation_stores),
        *row_issue(
            "too_long", [(a, b, np.setdiff1d(part.truncated, part.nothing_left), c) for (a, b, c), part in cuts]
        ),
        *row_issue("nothing_left", [(a, b, part.nothing_left, c) for (a, b, c), part in cuts]),
        *row_issue("duplicate", [(stores, everything, repeated(stores, everything), 0)]),
        *row_issue("leakage", [(evaluation.stores, evaluation.rows, leaked, first)]),
    ]


def _statistics(
    recipe: ResolvedRecipe,
    sides: tuple[_Side, _Side],
    batches: tuple[Batches, Batches],
    issues: list[Issue],
    stores: Stores,
    tokenizer: TextTokenizer,
    template: ChatTemplate | None,
) -> DataStatistics:
    training, evaluation = (split_statistics(side.part, batch) for side, batch in zip(sides, batches, strict=True))
    rows_read = sum(int(store.rows.size) for store in stores)
    left_out = sum(issue.count for issue in issues if issue.effect == "left_out")
    lengths = np.concatenate([store.lengths[store.lengths > 0] for store in stores])
    used = training.blocks * recipe.sequence_length
    padded = sides[0].documents.count * recipe.sequence_length
    return DataStatistics(
        rows_read=rows_read,
        rows_left_out=left_out,
        training=training,
        evaluation=evaluation,
        histogram=histogram(lengths),
        sequence_length=recipe.sequence_length,
        micro_batch_size=recipe.micro_batch_size,
        packing=recipe.packing,
        max_documents=batches[0].max_documents,
        packing_efficiency=training.tokens / used,
        padded_efficiency=training.tokens / padded,
        padded_blocks=sides[0].documents.count,
        issues=tuple(issues),
        formats=tuple(dict.fromkeys(store.meta.format for store in stores)),
        template=template.name if template else "none",
        template_hash=template.hash if template else "",
        tokenizer_hash=tokenizer.hash,
        dataset_hash=_dataset_hash(stores),
        vocabulary_size=tokenizer.vocabulary_size,
    )


def _dataset_hash(stores: Stores) -> str:
    """Of the files' contents alone: names, format and tokenizer do not matter."""
    digest = hashlib.sha256()
    for store in stores:
        files = store.meta.recipe.get("files")
        for _, content in files if isinstance(files, list) else ():
            digest.update(str(content).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _nothing(stores: Stores, datasets: tuple[DatasetRef, ...]) -> SurroundingsError:
    issues = stored_issues(stores)
    worst = max(issues, key=lambda issue: issue.count, default=None)
    why = f" {worst.count} rows: {worst.message}" if worst else " The sequence length may be too short."
    return SurroundingsError(
        "no_rows",
        f"No row is left to train on.{why}",
        "Look at the rows on the Data page, or choose another format, column or loss.",
        where=datasets[0].path if datasets else "datasets",
    )
