"""The data worker: one request after another from standard input, answers as JSON lines to standard output."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import msgspec

from engine.data.formats import require_trainable
from engine.data.identity import ContentHashes
from engine.data.inspecting import inspect, preview
from engine.data.marking import Marker, Shape
from engine.data.paging import RowCursor, Summariser, page_of_rows
from engine.data.preparing import prepare
from engine.data.reading import list_files
from engine.data.tokenising import look_at, open_source
from engine.data.tokenizer import TextTokenizer, load_tokenizer
from engine.protocol.codec import to_line
from engine.protocol.data_messages import (
    AnyDataAnswer,
    AnyDataRequest,
    DataFailed,
    DataMeasured,
    DataProgress,
    InspectTokens,
    MeasureData,
    PageRows,
    PreviewDataset,
    RowsPaged,
    StopWorker,
    TokensInspected,
    WorkerStopped,
    decode_data_request,
)
from engine.protocol.errors import EngineError, Problem, SurroundingsError
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, ResolvedRecipe, resolve

PROGRESS_SECONDS = 0.1
TOKENIZER_KINDS = (".json", ".jinja")


class _Reporter:
    """Progress of one request, not oftener than ten times a second, with the time that its phase will still take."""

    def __init__(self, worker: Worker, request: str) -> None:
        self._worker = worker
        self._request = request
        self._phase = ""
        self._began = self._told = 0.0

    def __call__(self, phase: str, done: int, total: int, unit: str) -> None:
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._began, self._told = phase, now, 0.0
        if now - self._told < PROGRESS_SECONDS and done < total:
            return
        self._told = now
        remaining = (now - self._began) / done * (total - done) if done and total else None
        self._worker.answer(
            DataProgress(id=self._request, phase=phase, done=done, total=total, unit=unit, remaining_seconds=remaining)
        )


class Worker:
    """Answers requests. Keeps what makes the next request quick: hashes, the last tokenizer, the last place read."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self._hashes = ContentHashes()
        self._tokenizer: tuple[object, TextTokenizer] | None = None
        self._cursor: tuple[object, RowCursor] | None = None

    def serve(self, lines: Iterable[bytes]) -> None:
        """Until `stop` or the end of the input."""
        for line in lines:
            if not line.strip():
                continue
            request = self._decode(line)
            if request is None:
                continue
            if isinstance(request, StopWorker):
                self.answer(WorkerStopped(id=request.id))
                return
            self._handle(request)

    def answer(self, answer: AnyDataAnswer) -> None:
        """Send one line."""
        self._output.write(to_line(answer))
        self._output.flush()

    def _decode(self, line: bytes) -> AnyDataRequest | None:
        try:
            return decode_data_request(line)
        except msgspec.DecodeError as error:
            problem = Problem("data_request_unknown", f"The request cannot be read: {error}", "Report this.")
            self.answer(DataFailed(id="", problem=problem))
            return None

    def _handle(self, request: AnyDataRequest) -> None:
        try:
            self.answer(self._result(request))
        except EngineError as error:
            self.answer(DataFailed(id=request.id, problem=error.problem()))
        except MemoryError:
            self._tokenizer = self._cursor = None
            self.answer(DataFailed(id=request.id, problem=_out_of_memory()))
        except OSError as error:
            problem = Problem("data_unreadable", f"The data cannot be read or kept: {error}", "Check the disk.")
            self.answer(DataFailed(id=request.id, problem=problem))
        except Exception as error:  # the window must hear of every failure, and the next request must still be served
            traceback.print_exc(file=sys.stderr)
            problem = Problem("bug", f"The data worker failed: {type(error).__name__}: {error}", "Report this.")
            self.answer(DataFailed(id=request.id, problem=problem))

    def _result(self, request: AnyDataRequest) -> AnyDataAnswer:
        if isinstance(request, PreviewDataset):
            return preview(request)
        if isinstance(request, PageRows):
            return self._page(request)
        if isinstance(request, InspectTokens):
            return self._tokens(request)
        if isinstance(request, MeasureData):
            data = prepare(
                _resolved(request.recipe),
                self._load(request.tokenizer_folder),
                Path(request.cache_folder),
                _Reporter(self, request.id),
                self._hashes,
            )
            return DataMeasured(id=request.id, statistics=data.statistics)
        raise SurroundingsError("data_request_unknown", f"{request!r} is not a question.", "Report this.")

    def _page(self, request: PageRows) -> RowsPaged:
        recipe = _resolved(request.recipe)
        dataset = _dataset(request.recipe, request.dataset, evaluation=request.evaluation)
        marker: Marker | None = None
        if request.tokenizer_folder:
            marker = open_source(dataset, recipe, self._load(request.tokenizer_folder)).marker
        summariser = Summariser(marker, marker or _shape(dataset), recipe.sequence_length)
        return page_of_rows(request, self._rows_of(dataset), summariser)

    def _tokens(self, request: InspectTokens) -> TokensInspected:
        recipe = _resolved(request.recipe)
        dataset = _dataset(request.recipe, request.dataset, evaluation=request.evaluation)
        rows, _ = self._rows_of(dataset).page(request.row, 1)
        if not rows:
            raise SurroundingsError(
                "row_missing", f"There is no row {request.row + 1}.", "Read the dataset again.", row=request.row
            )
        marker = open_source(dataset, recipe, self._load(request.tokenizer_folder)).marker
        return inspect(request, rows[0], marker, recipe.sequence_length)

    def _load(self, folder: str) -> TextTokenizer:
        key = _identity([path for path in sorted(Path(folder).glob("*")) if path.suffix in TOKENIZER_KINDS])
        if self._tokenizer is None or self._tokenizer[0] != (folder, key):
            self._tokenizer = ((folder, key), load_tokenizer(Path(folder)))
        return self._tokenizer[1]

    def _rows_of(self, dataset: DatasetRef) -> RowCursor:
        listing = list_files(Path(dataset.path))
        key = _identity(listing.files)
        if self._cursor is None or self._cursor[0] != key:
            self._cursor = (key, RowCursor(listing))
        return self._cursor[1]


def _identity(files: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """What changes when one of the files does."""
    return tuple((str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in files)


def _resolved(recipe: Recipe) -> ResolvedRecipe:
    """With every default. Data can be looked at before a model is chosen."""
    return resolve(recipe if recipe.model is not None else msgspec.structs.replace(recipe, model=ModelRef()))


def _dataset(recipe: Recipe, number: int, *, evaluation: bool) -> DatasetRef:
    datasets = recipe.evaluation_datasets if evaluation else recipe.datasets
    if not 0 <= number < len(datasets):
        raise SurroundingsError("dataset_missing", f"The recipe has no dataset {number + 1}.", "Choose a dataset.")
    return datasets[number]


def _shape(dataset: DatasetRef) -> Shape:
    detection = look_at(dataset).detection
    return Shape(require_trainable(detection, dataset.path).name, detection.mapping)


def _out_of_memory() -> Problem:
    return Problem(
        "data_out_of_memory",
        "Reading this data needs more memory than the data worker may use.",
        "Save the data as JSON lines or parquet; if the chat template is at fault, choose another one.",
    )
