"""From run folders to the history. Idempotent: reading anything twice changes nothing.

    folders ─► what is new in recipe.yaml, plan.json, user.json, events.jsonl, exports.jsonl ─► one transaction a run

One process per home does this: the one that holds `ingest.lock`. Everything else reads.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from msgspec.structs import replace
from sqlite_utils import Database

from engine.protocol.errors import Problem, SurroundingsError
from engine.protocol.folder import RunFolder
from engine.protocol.lock import ProcessLock
from studio.home import Home
from studio.runs.database import open_history
from studio.runs.identity import created_utc, is_run_id
from studio.runs.liveness import Liveness
from studio.runs.reconcile import reconcile
from studio.runs.rows import RunRow
from studio.runs.run_reader import RunReader
from studio.runs.store import run_row
from studio.runs.tail import Position
from studio.runs.writer import HistoryWriter

_LEAST_IN_TURN = 50
_TURNS = 10


@dataclass(frozen=True)
class Changes:
    """What one refresh found: ids of runs whose rows changed, and of runs that are gone."""

    changed: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


class Ingester:
    """Holds `ingest.lock` from `acquire` to `close`. Use it from one thread at a time."""

    def __init__(self, home: Home, liveness: Liveness) -> None:
        self._home = home
        self._liveness = liveness
        self._lock = ProcessLock(home.ingest_lock)
        self._database: Database | None = None
        self._readers: dict[str, RunReader] = {}
        self._rows: dict[str, RunRow] = {}
        self._noticed: set[str] = set()
        self._unread: set[str] = set()
        self._looked_at: set[str] = set()
        self._turn = 0

    def acquire(self) -> bool:
        """Become the one who ingests. False where another process is."""
        if self._database is not None:
            return True
        try:
            self._lock.acquire(wait_seconds=0.05)
        except SurroundingsError:
            return False
        try:
            self._database = open_history(self._home.history)
            self._load()
        except BaseException:
            self._lock.release()
            raise
        return True

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
            self._lock.release()

    def look_at(self, run_id: str) -> None:
        """The next refresh looks at this run: something was done with it."""
        self._noticed.add(run_id)

    def refresh(self) -> Changes:
        """Read what is new, and settle what became of runs whose engine is gone. Raises OSError, sqlite3.Error.

        Looks at every run that is new, at work or noticed, and in turn at a part of those that have ended: with
        hundreds of them, a change that another program made to an old run is seen within a second and not at once.
        """
        assert self._database is not None, "acquire first"
        writer = HistoryWriter(self._database)
        present = self._folders()
        removed = frozenset(self._rows) - set(present)
        for run_id in removed:
            self._forget(writer, run_id)
        changed = {run_id for run_id in self._due(present) if self._refresh_or_mark(writer, self._home.run(run_id))}
        return Changes(frozenset(changed), removed)

    def _forget(self, writer: HistoryWriter, run_id: str) -> None:
        with writer.transaction():
            writer.forget_run(run_id)
        self._rows.pop(run_id)
        self._readers.pop(run_id, None)
        self._looked_at.discard(run_id)

    def _refresh_or_mark(self, writer: HistoryWriter, folder: RunFolder) -> bool:
        """One folder that cannot be read must not hide the others: it gets a row that says why."""
        before = self._rows.get(folder.id)
        try:
            if folder.id in self._unread:
                self._forget(writer, folder.id)  # what it says now is read from the beginning
            changed = self._refresh_run(writer, folder)
            self._unread.discard(folder.id)
            return changed
        except (OSError, OverflowError) as error:  # the latter: a number that no engine writes and SQLite cannot hold
            self._unread.add(folder.id)
            row = before or RunRow(id=folder.id, created_utc=created_utc(folder.id))
            row = replace(row, status="unreadable", reason=Problem("run.unreadable", f"It cannot be read: {error}."))
            with writer.transaction():
                writer.put_run(row)
            self._rows[folder.id] = row
            return row != before

    def _refresh_run(self, writer: HistoryWriter, folder: RunFolder) -> bool:
        reader = self._readers.setdefault(folder.id, RunReader(folder, {}))
        before = self._rows.get(folder.id)
        # Asked before reading: an engine that ends in between has written all it will, so nothing is missed.
        alive = before is None or not before.is_active or self._liveness.is_alive(folder)
        while True:
            row, more = reader.read(writer, self._rows.get(folder.id))
            self._rows[folder.id] = row
            if not more:
                break
        if row.is_active and before is None:
            alive = self._liveness.is_alive(folder)
            row, _ = reader.read(writer, row)
        settled = row if alive or not row.is_active else reconcile(row, folder, self._liveness)
        if settled != row:
            with writer.transaction():
                writer.put_run(settled)
        self._rows[folder.id] = settled
        return settled != before

    def _due(self, present: list[str]) -> list[str]:
        noticed, self._noticed = self._noticed, set()
        ended = [run_id for run_id in present if run_id in self._looked_at and not self._rows[run_id].is_active]
        size = max(_LEAST_IN_TURN, len(ended) // _TURNS)
        start = self._turn if self._turn < len(ended) else 0
        self._turn = start + size
        resting = set(ended) - set(ended[start : start + size]) - noticed
        self._looked_at.update(present)
        return [run_id for run_id in present if run_id not in resting]

    def _folders(self) -> list[str]:
        try:
            return sorted(path.name for path in self._home.runs.iterdir() if is_run_id(path.name))
        except FileNotFoundError:
            return []

    def _load(self) -> None:
        """What an earlier ingester left: rows and positions."""
        assert self._database is not None
        connection = self._database.conn
        connection.row_factory = sqlite3.Row  # unpacks like a tuple and knows its columns
        tags: dict[str, list[str]] = {}
        for run, tag in connection.execute("SELECT run, tag FROM tags ORDER BY run, tag"):
            tags.setdefault(run, []).append(tag)
        for row in connection.execute("SELECT * FROM runs"):
            self._rows[row["id"]] = run_row(row, tuple(tags.get(row["id"], ())))
        positions: dict[str, dict[str, Position]] = {}
        for run, file, *position in connection.execute("SELECT * FROM sources"):
            positions.setdefault(run, {})[file] = Position(*position)
        for run_id in self._rows:
            self._readers[run_id] = RunReader(self._home.run(run_id), positions.get(run_id, {}))
