"""Our end of the data worker (`python -m engine.data`): requests down, progress and answers up, one JSON line each.

Everything that reads a stranger's data or template runs there, under limits of time and memory, and can be killed at
any moment: the next request starts another worker.
"""

from __future__ import annotations

import itertools
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.protocol import data_messages as m
from engine.protocol.codec import to_line
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import DatasetRef, Recipe
from studio.environment import module_command
from studio.runs.log_tail import last_lines

PREVIEW_SECONDS = 30.0
MEASURE_SECONDS = 24 * 3600.0
MEMORY_BYTES = 4 << 30

_Answer = TypeVar("_Answer", bound=m.DataAnswer)
OnProgress = Callable[[m.DataProgress], None]


class DataWorker:
    """One worker process, started when it is first needed. Requests from several threads take turns.

    `environment` is asked at each start, so that changed settings reach the next worker.
    """

    def __init__(
        self, environment: Callable[[], Mapping[str, str]], log: Path, *, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._environment = environment
        self._log = log
        self._memory_bytes = memory_bytes
        self._turn = threading.Lock()
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._reader: threading.Thread | None = None
        self._cancelled = threading.Event()

    def preview(self, dataset: DatasetRef, *, rows: int = 200) -> m.DatasetPreviewed:
        """Formats, columns and first rows. Raises SurroundingsError, as the following do."""
        return self._ask(m.PreviewDataset(id=self._id(), dataset=dataset, rows=rows), m.DatasetPreviewed)

    def rows(
        self, recipe: Recipe, *, dataset: int = 0, evaluation: bool = False, tokenizer: Path | None = None,
        offset: int = 0, count: int = 50, search: str = "", issue: str = "",
    ) -> m.RowsPaged:  # fmt: skip
        """A page of rows, with token counts where the model's folder is given as `tokenizer`.

        `search` keeps rows that hold the text, `issue` those with the code; the answer's `next_row` is the next offset.
        """
        folder = str(tokenizer) if tokenizer else ""
        request = m.PageRows(
            id=self._id(), recipe=recipe, dataset=dataset, evaluation=evaluation, tokenizer_folder=folder,
            offset=offset, count=count, search=search, issue=issue,
        )  # fmt: skip
        return self._ask(request, m.RowsPaged)

    def tokens(
        self, recipe: Recipe, tokenizer: Path, row: int, *, dataset: int = 0, evaluation: bool = False
    ) -> m.TokensInspected:
        """One row as the tokens that training would see."""
        request = m.InspectTokens(
            id=self._id(), recipe=recipe, tokenizer_folder=str(tokenizer), row=row, dataset=dataset,
            evaluation=evaluation,
        )  # fmt: skip
        return self._ask(request, m.TokensInspected)

    def measure(
        self, recipe: Recipe, tokenizer: Path, cache: Path, on_progress: OnProgress | None = None
    ) -> m.DataStatistics:
        """Tokenise everything into the cache (where training finds it) and count."""
        request = m.MeasureData(id=self._id(), recipe=recipe, tokenizer_folder=str(tokenizer), cache_folder=str(cache))
        return self._ask(request, m.DataMeasured, MEASURE_SECONDS, on_progress).statistics

    def cancel(self) -> None:
        """End what is being done now, from any thread: that request raises SurroundingsError("data.cancelled")."""
        self._cancelled.set()
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the worker and everything that belongs to it."""
        self.cancel()
        with self._turn:
            self._end()

    def _id(self) -> str:
        return str(next(self._numbers))

    def _ask(
        self, request: m.AnyDataRequest, kind: type[_Answer], seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> _Answer:  # fmt: skip
        with self._turn:
            self._cancelled.clear()
            process = self._running()
            assert process.stdin is not None
            try:
                process.stdin.write(to_line(request))
                process.stdin.flush()
            except OSError:
                raise self._died() from None
            seconds = PREVIEW_SECONDS if seconds is None else seconds
            deadline = time.monotonic() + seconds
            while True:
                answer = self._next_answer(deadline, seconds)
                if isinstance(answer, m.DataProgress):
                    if on_progress is not None and answer.id == request.id:
                        on_progress(answer)
                elif isinstance(answer, m.DataFailed):
                    problem = answer.problem
                    raise SurroundingsError(
                        problem.code, problem.message, problem.remedy, where=problem.where, **problem.arguments
                    )
                elif isinstance(answer, kind) and answer.id == request.id:
                    return answer

    def _next_answer(self, deadline: float, seconds: float) -> m.AnyDataAnswer:
        try:
            line = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            self._end()
            raise SurroundingsError(
                "data.too_slow", f"Reading the data took longer than {seconds:.0f} s.",
                "Look at the file, or choose another chat template.",
            ) from None  # fmt: skip
        if line is None:
            raise self._died()
        try:
            return m.decode_data_answer(line)
        except msgspec.DecodeError as error:
            self._end()
            raise SurroundingsError("data.garbled", f"The data worker said something unreadable: {error}.") from error

    def _died(self) -> SurroundingsError:
        self._end()
        if self._cancelled.is_set():
            return SurroundingsError("data.cancelled", "Reading the data was cancelled.")
        lines = last_lines(self._log, 3)
        return SurroundingsError(
            "data.worker_died", f"The data worker ended: {lines[-1] if lines else 'it said nothing'}.",
            "Try again; if it happens again, the file or its chat template is at fault.",
        )  # fmt: skip

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                module_command("engine.data", "--memory-bytes", str(self._memory_bytes)),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=dict(self._environment()),
            )  # fmt: skip
        self._answers = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process, self._answers), name="data answers")
        self._reader.start()
        return self._process

    @staticmethod
    def _read(process: subprocess.Popen[bytes], answers: queue.Queue[bytes | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put(None)

    def _end(self) -> None:
        process, reader = self._process, self._reader
        self._process = self._reader = None
        if process is None:
            return
        process.kill()
        process.wait()
        if reader is not None:
            reader.join()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not written went with the process
                    continue
