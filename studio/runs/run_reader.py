"""Reading what is new in one run folder, and writing it down in one transaction."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from engine.protocol.errors import EngineError, Problem
from engine.protocol.folder import RunFolder
from engine.protocol.recipe import Recipe, parse_recipe, recipe_hash, resolve
from studio.runs.event_batch import apply_events
from studio.runs.export_log import apply_export_events
from studio.runs.identity import created_utc
from studio.runs.rows import RunRow
from studio.runs.tail import Position, Reading, read_new_lines
from studio.runs.user_file import UserData, read_user
from studio.runs.writer import HistoryWriter

_RECIPE, _PLAN, _USER, _EVENTS, _EXPORTS = "recipe.yaml", "plan.json", "user.json", "events.jsonl", "exports.jsonl"


class RunReader:
    """One run folder and how far each of its files has been read."""

    def __init__(self, folder: RunFolder, positions: dict[str, Position]) -> None:
        self._folder = folder
        self._positions = positions

    def read(self, writer: HistoryWriter, before: RunRow | None) -> tuple[RunRow, bool]:
        """Take in what is new. Returns the run's row, and whether there is more to read at once."""
        whole = {name: _whole(self._folder.path / name) for name in (_RECIPE, _PLAN, _USER)}
        events = read_new_lines(self._folder.events, self._position(_EVENTS))
        exports = read_new_lines(self._folder.exports, self._position(_EXPORTS))
        now = {**whole, _EVENTS: events.position, _EXPORTS: exports.position}
        moved = {file: position for file, position in now.items() if position != self._position(file)}
        if before is not None and not moved:
            return before, False
        with writer.transaction():
            row = before or RunRow(id=self._folder.id, created_utc=created_utc(self._folder.id))
            if before is None or moved.keys() & {_RECIPE, _PLAN}:
                row = _with_recipe(row, self._folder)
            if _USER in moved or before is None:
                row = _with_user(row, self._folder)
            if before is None or _words(row) != _words(before):
                writer.put_search(row)
            row = self._with_events(writer, row, events)
            if exports.lines or exports.restarted:
                apply_export_events(writer, row.id, exports.lines)
            writer.put_run(row)
            for file, position in moved.items():
                writer.put_source(row.id, file, position)
        self._positions.update(moved)
        return row, events.more or exports.more

    def _with_events(self, writer: HistoryWriter, row: RunRow, reading: Reading) -> RunRow:
        if reading.restarted:
            writer.forget_events(row.id)
            row = _without_events(row)
        row = apply_events(writer, row, reading.lines)
        standing = self._folder.checkpoints()
        return replace(row, checkpoint_step=standing[-1][0] if standing else None)

    def _position(self, file: str) -> Position:
        return self._positions.get(file, Position())


def _with_recipe(row: RunRow, folder: RunFolder) -> RunRow:
    """What the recipe tells. One that cannot be read (a newer release wrote it) leaves the run readable otherwise."""
    try:
        recipe = parse_recipe(folder.recipe.read_text("utf-8"))
        resolved = resolve(recipe)
    except (EngineError, OSError, UnicodeDecodeError) as error:
        problem = error.problem() if isinstance(error, EngineError) else Problem("recipe.unreadable", str(error))
        return replace(row, status="unreadable" if row.attempt == 0 else row.status, reason=problem)
    return replace(
        row,
        status="launching" if row.status == "unreadable" else row.status,
        model=resolved.model.label(),
        dataset=_dataset_label(recipe),
        method=resolved.method,
        precision=resolved.precision,
        recipe=msgspec.json.encode(resolved, order="deterministic").decode(),
        recipe_hash=recipe_hash(recipe),
        plan=_plan_text(folder),
    )


def _plan_text(folder: RunFolder) -> str:
    """The plan without its table of offsets, which is most of its bytes and only the engine's business."""
    try:
        content = msgspec.json.decode(folder.plan.read_bytes(), type=dict[str, object])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return "{}"
    placement = content.get("placement")
    if isinstance(placement, dict):
        placement["offsets"] = {}
    return msgspec.json.encode(content).decode()


def _dataset_label(recipe: Recipe) -> str:
    return ", ".join(ref.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] for ref in recipe.datasets)


def _with_user(row: RunRow, folder: RunFolder) -> RunRow:
    try:
        user = read_user(folder)
    except EngineError:
        user = UserData()  # the file stays as it is; the row shows the id instead of a name
    return replace(
        row,
        name=user.name,
        tags=user.tags,
        notes=user.notes,
        votes=user.votes,
        archived=user.archived,
        parent_run=user.parent.run if user.parent else None,
        parent_step=user.parent.step if user.parent else None,
    )


def _without_events(row: RunRow) -> RunRow:
    """The row as it was before the first event."""
    kept = (
        "id", "name", "created_utc", "model", "dataset", "method", "precision", "recipe", "recipe_hash", "plan",
        "parent_run", "parent_step", "archived", "notes", "votes", "tags",
    )  # fmt: skip
    return RunRow(**{name: getattr(row, name) for name in kept})


def _words(row: RunRow) -> tuple[object, ...]:
    return (row.name, row.notes, row.tags, row.model, row.dataset)


def _whole(path: Path) -> Position:
    """The position of a file that is replaced as a whole: any change of it shows here."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return Position()
    return Position(f"{stat.st_dev}:{stat.st_ino}:{stat.st_mtime_ns}", stat.st_size)
