"""The only code that changes the history. Used by the one process that holds `ingest.lock`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from sqlite_utils import Database

from studio.runs.migrations import RUN_TABLES
from studio.runs.rows import CheckpointRow, EventRow, ExportRow, MetricRow, RunRow, SampleRow
from studio.runs.tail import Position

_JSON_COLUMNS = ("votes", "reason")
_TABLES: dict[type, str] = {
    EventRow: "events",
    SampleRow: "samples",
    CheckpointRow: "checkpoints",
    ExportRow: "exports",
}


@dataclass(frozen=True)
class Attempt:
    """One launch or resume. `first_step` is the first that it trained, `seconds` how long it has run so far."""

    first_step: int
    started_utc: str
    seconds: float


class HistoryWriter:
    """Statements on one connection; `transaction` makes several of them one."""

    def __init__(self, database: Database) -> None:
        self._connection: sqlite3.Connection = database.conn

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Takes the write lock at once, so that waiting for it cannot fail half way."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def put_run(self, row: RunRow) -> None:
        """Insert or replace the run's own row, its tags and its searchable text."""
        content = {name: getattr(row, name) for name in row.__struct_fields__ if name != "tags"}
        for name in _JSON_COLUMNS:
            content[name] = None if content[name] is None else msgspec.json.encode(content[name]).decode()
        self._insert("runs", content)
        self._execute("DELETE FROM tags WHERE run = ?", row.id)
        self._connection.executemany("INSERT INTO tags VALUES (?, ?)", [(row.id, tag) for tag in row.tags])

    def put_search(self, row: RunRow) -> None:
        """Make the run's words findable. Apart from `put_run`, because they change seldom and steps come often."""
        self._execute("DELETE FROM runs_search WHERE run = ?", row.id)
        values = (row.id, row.name, row.notes, " ".join(row.tags), row.model, row.dataset)
        self._execute("INSERT INTO runs_search VALUES (?, ?, ?, ?, ?, ?)", *values)

    def put_attempt(self, run: str, number: int, attempt: Attempt) -> None:
        values = (run, number, attempt.first_step, attempt.started_utc, attempt.seconds)
        self._execute("INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?)", *values)

    def attempts(self, run: str) -> dict[int, Attempt]:
        """The attempts written so far, by number."""
        rows = self._connection.execute(
            "SELECT attempt, first_step, started_utc, seconds FROM attempts WHERE run = ?", (run,)
        )
        return {number: Attempt(*rest) for number, *rest in rows}

    def trained_tokens_at(self, run: str, step: int) -> int:
        """The run's total after `step`, as its newest attempt so far had it. 0 where that step has no points."""
        found = self._connection.execute(
            "SELECT trained_tokens FROM metrics WHERE run = ? AND key = 'loss' AND step = ? ORDER BY attempt DESC",
            (run, step),
        ).fetchone()
        return int(found[0]) if found else 0

    def exports(self, run: str) -> list[ExportRow]:
        """The exports written down so far."""
        return [ExportRow(*row) for row in self._connection.execute("SELECT * FROM exports WHERE run = ?", (run,))]

    def put_metrics(self, run: str, rows: Iterable[MetricRow]) -> None:
        """Unique on run, key, step, attempt: reading an event twice changes nothing."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(run, r.key, r.step, r.attempt, r.value, r.elapsed_seconds, r.trained_tokens) for r in rows],
        )

    def put(self, row: EventRow | SampleRow | CheckpointRow | ExportRow) -> None:
        """Insert or replace a row of the table that its type belongs to."""
        self._insert(_TABLES[type(row)], {name: getattr(row, name) for name in row.__struct_fields__})

    def mark_checkpoint_deleted(self, run: str, step: int) -> None:
        self._execute("UPDATE checkpoints SET deleted = 1 WHERE run = ? AND step = ?", run, step)

    def put_source(self, run: str, file: str, position: Position) -> None:
        """Remember how far a file has been read."""
        values = (run, file, position.identity, position.offset, position.head, position.head_bytes)
        self._execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?)", *values)

    def forget_events(self, run: str) -> None:
        """Void everything that came from `events.jsonl`, before it is read again from zero."""
        for table in ("attempts", "metrics", "events", "samples", "checkpoints"):
            self._execute(f"DELETE FROM {table} WHERE run = ?", run)

    def forget_run(self, run: str) -> None:
        """Void everything of a run whose folder is gone."""
        for table in RUN_TABLES:
            self._execute(f"DELETE FROM {table} WHERE run = ?", run)
        self._execute("DELETE FROM runs WHERE id = ?", run)

    def _insert(self, table: str, content: dict[str, object]) -> None:
        marks = ", ".join("?" * len(content))
        self._execute(f"INSERT OR REPLACE INTO {table} ({', '.join(content)}) VALUES ({marks})", *content.values())

    def _execute(self, statement: str, *values: object) -> None:
        self._connection.execute(statement, values)
