"""Curves out of the tall metrics table.

A step that was trained twice (a resume from an older checkpoint) is shown as the newest attempt had it: a point counts
only if no later attempt began at or before its step.
"""

from __future__ import annotations

import sqlite3

from studio.runs.rows import MetricSummary, Series

_NO_END = 2**62

_CURRENT = """
    SELECT m.step AS step, m.value AS value, m.trained_tokens AS tokens, m.elapsed_seconds + s.before AS seconds
    FROM metrics m JOIN spans s ON s.attempt = m.attempt
    WHERE m.run = :run AND m.key = :key AND m.step > :after AND m.step < s.ending
"""

# The lowest and the highest point of each bucket: a spike is never averaged away. SQLite gives the other columns of the
# row where min() or max() was found (https://sqlite.org/lang_select.html#bareagg).
_DECIMATED = f"""
    points AS MATERIALIZED ({_CURRENT}),
    span AS (SELECT min(step) AS low, max(step) - min(step) + 1 AS width FROM points),
    placed AS MATERIALIZED (SELECT points.*, (step - low) * :buckets / width AS bucket FROM points, span),
    kept AS (
        SELECT step, tokens, seconds, min(value) AS value FROM placed WHERE value IS NOT NULL GROUP BY bucket
        UNION
        SELECT step, tokens, seconds, max(value) AS value FROM placed WHERE value IS NOT NULL GROUP BY bucket
        UNION
        SELECT step, tokens, seconds, value FROM placed WHERE value IS NULL)
    SELECT step, value, tokens, seconds FROM kept ORDER BY step
"""

_SUMMARY = f"""
    points AS MATERIALIZED ({_CURRENT})
    SELECT min(value), max(value), avg(value), (SELECT value FROM points WHERE value IS NOT NULL ORDER BY step DESC)
    FROM points
"""


def read_series(
    connection: sqlite3.Connection, run: str, key: str, *, after_step: int = -1, most_points: int | None = None
) -> Series:
    """The curve of `key`, from the step after `after_step` on.

    With `most_points`, a longer curve is thinned to the lowest and highest point of each of `most_points / 2` spans;
    points that were not finite stay, all of them.
    """
    spans = _spans(connection, run)
    if not spans:
        return Series(run, key)
    values: dict[str, object] = {"run": run, "key": key, "after": after_step}
    statement = f"WITH {spans} {_CURRENT} ORDER BY step"
    if most_points is not None:
        bound = "SELECT count(*) FROM metrics WHERE run = :run AND key = :key AND step > :after"
        if connection.execute(bound, values).fetchone()[0] > most_points:
            statement = f"WITH {spans}, {_DECIMATED}"
            values["buckets"] = max(1, most_points // 2)
    rows = connection.execute(statement, values).fetchall()
    return Series(
        run,
        key,
        tuple(row["step"] for row in rows),
        tuple(row["value"] for row in rows),
        tuple(row["seconds"] for row in rows),
        tuple(row["tokens"] for row in rows),
    )


def read_summary(connection: sqlite3.Connection, run: str, key: str) -> MetricSummary | None:
    """None where the run has no finite point of that metric."""
    spans = _spans(connection, run)
    if not spans:
        return None
    row = connection.execute(f"WITH {spans}, {_SUMMARY}", {"run": run, "key": key, "after": -1}).fetchone()
    return None if row[0] is None else MetricSummary(*row)


def _spans(connection: sqlite3.Connection, run: str) -> str:
    """The table `spans`: which steps of each attempt count, and the time spent before it. "" without attempts."""
    attempts = connection.execute(
        "SELECT attempt, first_step, seconds FROM attempts WHERE run = ? ORDER BY attempt", (run,)
    ).fetchall()
    rows, before = [], 0.0
    for index, (attempt, _, seconds) in enumerate(attempts):
        ending = min((first for _, first, _ in attempts[index + 1 :]), default=_NO_END)
        rows.append(f"({int(attempt)}, {int(ending)}, {float(before)!r})")
        before += seconds
    return f"spans(attempt, ending, before) AS (VALUES {', '.join(rows)})" if rows else ""
