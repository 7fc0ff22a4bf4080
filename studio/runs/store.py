"""Reading the history. Every query is a page or a curve; nothing loads everything."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.protocol.errors import SurroundingsError
from studio.runs.charts import read_series, read_summary
from studio.runs.database import open_history
from studio.runs.query import RunQuery
from studio.runs.rows import CheckpointRow, EventRow, ExportRow, MetricSummary, RunRow, SampleRow, Series

_Row = TypeVar("_Row", bound=msgspec.Struct)


class RunStore:
    """A reader of `history.db`. Any thread may call it; calls take turns. `close` when done."""

    def __init__(self, path: Path) -> None:
        self._turn = threading.RLock()
        self._database = open_history(path)
        self._database.conn.row_factory = sqlite3.Row

    def close(self) -> None:
        with self._turn:
            self._database.close()

    def data_version(self) -> int:
        """Changes whenever another connection has committed: cheap to ask ten times a second."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def fingerprints(self) -> dict[str, int]:
        """Run → a number that differs when its row does: what a process that does not ingest compares."""
        tagged = "(SELECT group_concat(tag, char(10)) FROM (SELECT tag FROM tags WHERE run = runs.id ORDER BY tag))"
        return {row["id"]: hash(tuple(row)) for row in self._rows(f"SELECT *, {tagged} FROM runs")}

    def runs(self, query: RunQuery | None = None, *, offset: int = 0, limit: int = 100) -> list[RunRow]:
        """One page of runs."""
        query = query or RunQuery()
        where, values = query.where()
        rows = self._rows(f"SELECT * FROM runs {where} {query.order()} LIMIT ? OFFSET ?", *values, limit, offset)
        return self._with_tags(rows)

    def count(self, query: RunQuery | None = None) -> int:
        """How many runs the query finds in all."""
        where, values = (query or RunQuery()).where()
        return int(self._rows(f"SELECT count(*) FROM runs {where}", *values)[0][0])

    def run(self, run_id: str) -> RunRow:
        """Raises SurroundingsError("run.unknown")."""
        rows = self._with_tags(self._rows("SELECT * FROM runs WHERE id = ?", run_id))
        if not rows:
            raise SurroundingsError("run.unknown", f"There is no run {run_id}.", "List them with `anneal runs`.")
        return rows[0]

    def find(self, text: str) -> RunRow:
        """A run by id, id prefix, unique name, or `last`. Raises SurroundingsError("run.unknown" | "run.ambiguous")."""
        if text == "last":
            newest = self.runs(RunQuery(archived=None), limit=1)
            if not newest:
                raise SurroundingsError("run.unknown", "There is no run yet.", "Launch one with `anneal train`.")
            return newest[0]
        prefix = text.upper().replace("%", "").replace("_", "") + "%"
        found = self._with_tags(self._rows("SELECT * FROM runs WHERE id LIKE ? OR name = ? LIMIT 3", prefix, text))
        if len(found) == 1:
            return found[0]
        if not found:
            raise SurroundingsError("run.unknown", f"No run is called {text!r}.", "List them with `anneal runs`.")
        raise SurroundingsError(
            "run.ambiguous", f"{text!r} fits more than one run.", "Give more characters of its id.", name=text
        )

    def tags(self) -> list[tuple[str, int]]:
        """Every tag and how many runs carry it, by name."""
        return [(row[0], row[1]) for row in self._rows("SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY tag")]

    def metric_keys(self, run_id: str) -> list[str]:
        """The curves that a run has. A metric that it does not have is simply not among them."""
        return [row[0] for row in self._rows("SELECT DISTINCT key FROM metrics WHERE run = ? ORDER BY key", run_id)]

    def series(self, run_id: str, key: str, *, after_step: int = -1, most_points: int | None = None) -> Series:
        """A curve out of the newest attempts (see charts.py); empty where the run has no such metric."""
        with self._turn:
            return read_series(self._database.conn, run_id, key, after_step=after_step, most_points=most_points)

    def summary(self, run_id: str, key: str) -> MetricSummary | None:
        """Lowest, highest, mean and newest value of a curve; None where there is none."""
        with self._turn:
            return read_summary(self._database.conn, run_id, key)

    def events(self, run_id: str, *, after: int = 0, kinds: Iterable[str] = (), limit: int = 500) -> list[EventRow]:
        """Kept events in order, those after sequence `after`; all kinds, or only the named ones."""
        names = list(kinds)
        clause = f"AND kind IN ({', '.join('?' * len(names))})" if names else ""
        return self._all(
            EventRow,
            f"SELECT * FROM events WHERE run = ? AND sequence > ? {clause} ORDER BY sequence LIMIT ?",
            run_id, after, *names, limit,
        )  # fmt: skip

    def samples(self, run_id: str) -> list[SampleRow]:
        """Answers during training, by step and prompt; of a step that was trained twice the newest attempt's."""
        return self._all(
            SampleRow,
            """SELECT * FROM samples s WHERE run = ? AND NOT EXISTS (
                SELECT 1 FROM attempts a WHERE a.run = s.run AND a.attempt > s.attempt AND a.first_step <= s.step
            ) ORDER BY step, number""",
            run_id,
        )

    def checkpoints(self, run_id: str, *, standing: bool = True) -> list[CheckpointRow]:
        """By step; without `standing` also those that the keeping rule let go."""
        clause = "AND deleted = 0" if standing else ""
        return self._all(CheckpointRow, f"SELECT * FROM checkpoints WHERE run = ? {clause} ORDER BY step", run_id)

    def exports(self, run_id: str | None = None) -> list[ExportRow]:
        """Newest first, of one run or of all."""
        clause, values = ("WHERE run = ?", [run_id]) if run_id else ("", [])
        return self._all(ExportRow, f"SELECT * FROM exports {clause} ORDER BY time_utc DESC, path", *values)

    def _rows(self, statement: str, *values: object) -> list[sqlite3.Row]:
        with self._turn:
            return list(self._database.conn.execute(statement, values).fetchall())

    def _all(self, kind: type[_Row], statement: str, *values: object) -> list[_Row]:
        return [msgspec.convert(dict(row), kind, strict=False) for row in self._rows(statement, *values)]

    def _with_tags(self, rows: list[sqlite3.Row]) -> list[RunRow]:
        marks = ", ".join("?" * len(rows))
        tags: dict[str, list[str]] = {}
        for run, tag in self._rows(
            f"SELECT run, tag FROM tags WHERE run IN ({marks}) ORDER BY run, tag", *(row["id"] for row in rows)
        ):
            tags.setdefault(run, []).append(tag)
        return [run_row(row, tuple(tags.get(row["id"], ()))) for row in rows]


def run_row(row: sqlite3.Row, tags: tuple[str, ...]) -> RunRow:
    """A row of `runs` as a struct."""
    content = dict(row)
    content["votes"] = msgspec.json.decode(content["votes"])
    content["reason"] = None if content["reason"] is None else msgspec.json.decode(content["reason"])
    content["tags"] = tags
    return msgspec.convert(content, RunRow, strict=False)
