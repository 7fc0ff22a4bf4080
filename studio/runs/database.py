"""Opening `history.db`: WAL, a patient busy timeout, the schema up to date.

The database is an index of the run folders and holds nothing of its own: a damaged one is moved away and built anew.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from sqlite_utils import Database

from engine.protocol.errors import SurroundingsError
from studio.runs.migrations import history

BUSY_SECONDS = 20.0


def open_history(path: Path) -> Database:
    """A connection that any thread may use in turn (the store serialises). Creates and migrates as needed.

    Raises SurroundingsError("history.unusable") where it is locked, may not be written or has no room.
    """
    try:
        return _open(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # the file itself may be perfectly good
            raise SurroundingsError(
                "history.unusable",
                f"The history {path} cannot be used: {error}.",
                "Check the disk and the permissions of its folder, or choose another home.",
                path=str(path),
            ) from error
        _move_aside(path)
        return _open(path)


def _open(path: Path) -> Database:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # the run folders are the truth; WAL stays consistent
        database = Database(connection, execute_plugins=False)
        if history.pending(database):
            _migrate(database)
        return database
    except BaseException:
        connection.close()
        raise


def _migrate(database: Database) -> None:
    # Two processes may open a new home at once: the second waits here, and then finds nothing to do.
    database.conn.execute("BEGIN IMMEDIATE")
    try:
        history.apply(database)
        database.conn.execute("COMMIT")
    except BaseException:
        database.conn.execute("ROLLBACK")
        raise


def _move_aside(path: Path) -> None:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.replace(path.with_name(f"{path.name}{suffix}.damaged-{stamp}"))
