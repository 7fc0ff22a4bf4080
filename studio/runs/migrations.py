"""The history's schema, as small named steps in order. Each runs in a transaction of its own; none is ever changed.

runs ──┬── attempts      one row a launch or resume
       ├── metrics       tall: (run, key, step, attempt) → value
       ├── events        what a person may want to read again (not every step)
       ├── samples, checkpoints, exports
       ├── tags
       └── sources       how far each file of the run has been read
runs_search              full text over name, notes, tags, model and dataset
"""

from __future__ import annotations

from sqlite_utils import Database, Migrations

history = Migrations("history")

RUN_TABLES = ("attempts", "metrics", "events", "samples", "checkpoints", "exports", "tags", "sources", "runs_search")


@history()
def m001_runs(database: Database) -> None:
    database.conn.execute(
        """
        CREATE TABLE runs (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, status TEXT NOT NULL, created_utc TEXT NOT NULL,
            model TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT NOT NULL, precision TEXT NOT NULL,
            recipe TEXT NOT NULL, recipe_hash TEXT NOT NULL, plan TEXT NOT NULL,
            parent_run TEXT, parent_step INTEGER, archived INTEGER NOT NULL, notes TEXT NOT NULL, votes TEXT NOT NULL,
            host TEXT NOT NULL, device TEXT NOT NULL, attempt INTEGER NOT NULL, started_utc TEXT, ended_utc TEXT,
            step INTEGER NOT NULL, total_steps INTEGER, seconds REAL NOT NULL, remaining_seconds REAL,
            phase TEXT NOT NULL, phase_done INTEGER, phase_total INTEGER, phase_unit TEXT NOT NULL,
            loss REAL, evaluation_loss REAL, best_evaluation_loss REAL, best_step INTEGER,
            trained_tokens INTEGER NOT NULL, tokens_per_second REAL, last_sequence INTEGER NOT NULL,
            checkpoint_step INTEGER, reason TEXT, non_finite INTEGER NOT NULL, bad_lines INTEGER NOT NULL
        ) WITHOUT ROWID
        """
    )
    database.conn.execute("CREATE INDEX runs_by_status ON runs (status)")


@history()
def m002_attempts_and_metrics(database: Database) -> None:
    database.conn.execute(
        """
        CREATE TABLE attempts (
            run TEXT NOT NULL, attempt INTEGER NOT NULL, first_step INTEGER NOT NULL, started_utc TEXT NOT NULL,
            seconds REAL NOT NULL, PRIMARY KEY (run, attempt)
        ) WITHOUT ROWID
        """
    )
    database.conn.execute(
        """
        CREATE TABLE metrics (
            run TEXT NOT NULL, key TEXT NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL,
            value REAL, elapsed_seconds REAL NOT NULL, trained_tokens INTEGER NOT NULL,
            PRIMARY KEY (run, key, step, attempt)
        ) WITHOUT ROWID
        """
    )


@history()
def m003_events_and_files(database: Database) -> None:
    for statement in (
        """CREATE TABLE events (
            run TEXT NOT NULL, sequence INTEGER NOT NULL, kind TEXT NOT NULL, attempt INTEGER NOT NULL,
            step INTEGER NOT NULL, time_utc TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run, sequence)
        ) WITHOUT ROWID""",
        """CREATE TABLE samples (
            run TEXT NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL, number INTEGER NOT NULL,
            prompt TEXT NOT NULL, text TEXT NOT NULL, new_tokens INTEGER NOT NULL,
            PRIMARY KEY (run, step, attempt, number)
        ) WITHOUT ROWID""",
        """CREATE TABLE checkpoints (
            run TEXT NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL, path TEXT NOT NULL,
            sha256 TEXT NOT NULL, size_bytes INTEGER NOT NULL, evaluation_loss REAL, reason TEXT NOT NULL,
            time_utc TEXT NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (run, step)
        ) WITHOUT ROWID""",
        """CREATE TABLE exports (
            run TEXT NOT NULL, path TEXT NOT NULL, format TEXT NOT NULL, checkpoint_step INTEGER NOT NULL,
            state TEXT NOT NULL, sha256 TEXT NOT NULL, size_bytes INTEGER NOT NULL, time_utc TEXT NOT NULL,
            content TEXT NOT NULL, PRIMARY KEY (run, path)
        ) WITHOUT ROWID""",
        "CREATE TABLE tags (run TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (run, tag)) WITHOUT ROWID",
        "CREATE INDEX tags_by_tag ON tags (tag)",
    ):
        database.conn.execute(statement)


@history()
def m004_sources(database: Database) -> None:
    database.conn.execute(
        """CREATE TABLE sources (
            run TEXT NOT NULL, file TEXT NOT NULL, identity TEXT NOT NULL, offset INTEGER NOT NULL,
            head TEXT NOT NULL, head_bytes INTEGER NOT NULL, PRIMARY KEY (run, file)
        ) WITHOUT ROWID"""
    )


@history()
def m005_search(database: Database) -> None:
    database.conn.execute(
        "CREATE VIRTUAL TABLE runs_search USING fts5 (run UNINDEXED, name, notes, tags, model, dataset)"
    )
