"""`exports.jsonl`: what was exported out of a run, and what its self-test said. One row a destination."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from engine.protocol import events as e
from studio.runs.rows import ExportRow
from studio.runs.writer import HistoryWriter


def apply_export_events(writer: HistoryWriter, run: str, lines: Sequence[bytes]) -> None:
    """Write the newest state of each export that these lines speak of. A torn line is passed over."""
    rows = {row.path: row for row in writer.exports(run)}
    for line in lines:
        try:
            event = e.decode_event(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        row = _after(run, rows, event, line.decode())
        if row is not None:
            rows[row.path] = row
            writer.put(row)


def _after(run: str, rows: dict[str, ExportRow], event: object, content: str) -> ExportRow | None:
    match event:
        case e.ExportStarted():
            return ExportRow(
                run, event.path, event.format, event.checkpoint_step, "writing", "", 0, event.time_utc, content
            )
        case e.ExportWritten():
            return ExportRow(
                run, event.path, event.format, event.checkpoint_step, "written", event.sha256, event.size_bytes,
                event.time_utc, content,
            )  # fmt: skip
        case e.ExportVerified():
            before = rows.get(event.path)
            fresh = ExportRow(run, event.path, event.format, event.checkpoint_step, "written", "", 0, "", content)
            state = "passed" if event.passed else "failed"
            return replace(before or fresh, state=state, time_utc=event.time_utc, content=content)
        case e.RunFailed():
            unfinished = [row for row in rows.values() if row.state == "writing"]
            return replace(unfinished[-1], state="failed", content=content) if unfinished else None
        case _:
            return None
