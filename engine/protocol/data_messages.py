"""What the window asks of the data worker (`python -m engine.data`) and what it answers.

One request or answer is one JSON line. Every answer carries the `id` of its request: any number of `DataProgress`, then
exactly one result or `DataFailed`. The worker does one request at a time; to cancel, kill it and start another.
"""

from __future__ import annotations

import msgspec

from engine.protocol.errors import Problem
from engine.protocol.recipe import DatasetRef, Recipe


class Place(msgspec.Struct, frozen=True):
    """A row of a dataset: the file (relative to the dataset), the line from 1, and a reason of its own if any.

    `dataset` counts the recipe's datasets from 0, those for evaluation after the others.
    """

    file: str
    line: int
    reason: str = ""
    dataset: int = 0


class Issue(msgspec.Struct, frozen=True):
    """Something about rows that the user should know before training.

    `effect`: "kept" (trained as it is), "cut" (trained in part), "left_out" (not trained). `examples`: the first few.
    """

    code: str
    count: int
    effect: str
    message: str
    examples: tuple[Place, ...] = ()


class FormatMatch(msgspec.Struct, frozen=True):
    """How many of the rows looked at have the shape of one format. `trainable` is false for preference pairs."""

    format: str
    label: str
    matches: int
    trainable: bool = True


class Histogram(msgspec.Struct, frozen=True):
    """Row lengths in tokens. Bin k holds the rows of k·width < tokens ≤ (k + 1)·width.

    For a cut at a multiple of `width`, the rows cut and the tokens lost follow exactly from `rows` and `tokens`.
    """

    width: int
    rows: tuple[int, ...]
    tokens: tuple[int, ...]


class SplitStatistics(msgspec.Struct, frozen=True):
    """One side of the split, as it is trained or evaluated once. A block is `sequence_length` tokens.

    `trained_tokens` are predicted with weight (the first token of a document never is). `padding_tokens` fill blocks.
    """

    rows: int = 0
    documents: int = 0
    tokens: int = 0
    trained_tokens: int = 0
    blocks: int = 0
    micro_batches: int = 0
    padding_tokens: int = 0
    truncated_rows: int = 0
    lost_tokens: int = 0
    largest_document: int = 0


class DataStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a recipe's datasets are to a model: the figures that the planner and the window work with.

    `rows_read` counts every row, readable or not; `rows_left_out` those that are not trained on (see `issues`).
    `max_documents` is the documents (padding not counted) of one block, the same for training and evaluation.
    `packing_efficiency` is the share of real tokens in training blocks, `padded_efficiency` what it would be unpacked.
    `template` says which chat template was used: "model", "chatml", "plain", or "none" (no conversations).
    """

    rows_read: int
    rows_left_out: int
    training: SplitStatistics
    evaluation: SplitStatistics
    histogram: Histogram
    sequence_length: int
    micro_batch_size: int
    packing: bool
    max_documents: int
    packing_efficiency: float
    padded_efficiency: float
    padded_blocks: int
    issues: tuple[Issue, ...]
    formats: tuple[str, ...]
    template: str
    template_hash: str
    tokenizer_hash: str
    dataset_hash: str
    vocabulary_size: int


class DataRequest(msgspec.Struct, frozen=True, kw_only=True, tag_field="request"):
    id: str


class PreviewDataset(DataRequest, frozen=True, kw_only=True, tag="preview"):
    """Formats, columns and the first rows. Needs no tokenizer and does not read the file to its end."""

    dataset: DatasetRef
    rows: int = 200


class PageRows(DataRequest, frozen=True, kw_only=True, tag="rows"):
    """A page of rows of the recipe's dataset number `dataset`, with token counts where `tokenizer_folder` is given.

    `search` keeps rows whose text holds it (case aside), `issue` those with that code (of the row itself, so neither
    duplicates nor leakage). `offset` is the row to look from: the next page begins at the answer's `next_row`.
    """

    recipe: Recipe
    dataset: int = 0
    evaluation: bool = False
    tokenizer_folder: str = ""
    offset: int = 0
    count: int = 50
    search: str = ""
    issue: str = ""


class InspectTokens(DataRequest, frozen=True, kw_only=True, tag="tokens"):
    """One row (counted from 0 over all rows of that dataset) as exactly the tokens that training would see."""

    recipe: Recipe
    tokenizer_folder: str
    row: int
    dataset: int = 0
    evaluation: bool = False


class MeasureData(DataRequest, frozen=True, kw_only=True, tag="statistics"):
    """Tokenise everything (into the cache, where training finds it) and count."""

    recipe: Recipe
    tokenizer_folder: str
    cache_folder: str


class StopWorker(DataRequest, frozen=True, kw_only=True, tag="stop"):
    """Answer `WorkerStopped` and end."""


AnyDataRequest = PreviewDataset | PageRows | InspectTokens | MeasureData | StopWorker


class DataAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="answer"):
    id: str


class DataProgress(DataAnswer, frozen=True, kw_only=True, tag="progress"):
    """`phase` "reading", "tokenising" or "packing"; `done` of `total` in `unit` ("bytes", "rows"); total 0: unknown."""

    phase: str
    done: int
    total: int
    unit: str
    remaining_seconds: float | None = None


class DataFailed(DataAnswer, frozen=True, kw_only=True, tag="failed"):
    """The request failed; the worker goes on with the next, unless it says so by ending."""

    problem: Problem


class PreviewRow(msgspec.Struct, frozen=True):
    """One raw row: where it stands and its fields as one JSON text (cut at some length)."""

    place: Place
    text: str


class DatasetPreviewed(DataAnswer, frozen=True, kw_only=True, tag="preview"):
    """What a dataset looks like.

    `format` is the one in force (detected or given), "" where none fits. `columns` are all field names seen; `mapping`
    is our role → their column, as detected, with the mapping asked for laid over it. `evidence` is one sentence.
    `rows` are the readable rows among the first, as JSON texts, each with its place; `problems` the unreadable ones.
    `complete` says that these are all the rows there are.
    """

    format: str
    evidence: str
    formats: tuple[FormatMatch, ...]
    columns: tuple[str, ...]
    mapping: dict[str, str]
    files: tuple[str, ...]
    skipped_files: tuple[str, ...]
    size_bytes: int
    encodings: tuple[str, ...]
    rows: tuple[PreviewRow, ...]
    problems: tuple[Place, ...]
    complete: bool


class RowSummary(msgspec.Struct, frozen=True):
    """A row as the table shows it. `tokens` and `trained` are None without a tokenizer.

    `cut` is how many tokens the sequence length cuts off; `issues` are codes; `title` begins the first user turn.
    """

    row: int
    place: Place
    title: str
    turns: int
    tokens: int | None = None
    trained: int | None = None
    cut: int = 0
    issues: tuple[str, ...] = ()


class RowsPaged(DataAnswer, frozen=True, kw_only=True, tag="rows"):
    """`more` says whether rows follow from `next_row` on. A search that takes long answers with what it has found."""

    rows: tuple[RowSummary, ...]
    more: bool
    next_row: int = 0


class TokensInspected(DataAnswer, frozen=True, kw_only=True, tag="tokens"):
    """One row as tokens, all arrays of one length.

    `texts[i]` is what token i stands for in the rendered text (several tokens may share one character: all but the
    first are then empty). `trained[i]`: whether predicting token i counts. `special[i]`: a control token. Tokens from
    `cut_at` on are not trained on. `rendered` is the text, `issues` are codes; `reason` says why a row is left out.
    """

    place: Place
    ids: tuple[int, ...]
    texts: tuple[str, ...]
    trained: tuple[bool, ...]
    special: tuple[bool, ...]
    cut_at: int
    rendered: str
    template: str
    issues: tuple[str, ...]
    reason: str = ""


class DataMeasured(DataAnswer, frozen=True, kw_only=True, tag="statistics"):
    statistics: DataStatistics


class WorkerStopped(DataAnswer, frozen=True, kw_only=True, tag="stopped"):
    """The worker ends after this line."""


AnyDataAnswer = (
    DataProgress | DataFailed | DatasetPreviewed | RowsPaged | TokensInspected | DataMeasured | WorkerStopped
)

_request_decoder = msgspec.json.Decoder(AnyDataRequest)
_answer_decoder = msgspec.json.Decoder(AnyDataAnswer)


def decode_data_request(line: bytes) -> AnyDataRequest:
    """Raises msgspec.DecodeError (ValidationError where the JSON is sound but unknown)."""
    return _request_decoder.decode(line)


def decode_data_answer(line: bytes) -> AnyDataAnswer:
    """Raises msgspec.DecodeError (ValidationError where the JSON is sound but unknown)."""
    return _answer_decoder.decode(line)
