"""The folder that an export goes to: complete or absent, and other people's files in it are left alone.

    new or empty target    built in a temporary folder beside it, then renamed
    our earlier export     the record says which files are ours: these are replaced one by one, the rest survives
    anything else          refused

The record `anneal-export.json` is written last; while an earlier export is being replaced it says so.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.errors import SurroundingsError
from engine.protocol.files import disk, rename_folder, sync_folder, temporary_beside, write_atomically
from engine.training.checkpoint import FileRecord, file_sha256
from engine.training.disk_errors import disk_error, require_space

RECORD = "anneal-export.json"


class ExportRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where an export came from and which files are ours. `complete` is false while files are being replaced."""

    format: str
    run: str
    run_name: str
    checkpoint_step: int
    checkpoint_sha256: str
    time_utc: str
    complete: bool = False
    files: dict[str, FileRecord] = {}
    version: int = VERSION


def read_record(folder: Path) -> ExportRecord | None:
    """The record of an export of ours in `folder`, or None where there is none.

    A record that names a file outside its folder is not ours: what it names is replaced and deleted.
    """
    try:
        record = msgspec.json.decode((folder / RECORD).read_bytes(), type=ExportRecord)
    except (OSError, msgspec.DecodeError):
        return None
    return record if all(_stays_inside(name) for name in record.files) else None


def _stays_inside(name: str) -> bool:
    """On any system: no way up, no root, no drive."""
    return all(part not in ("", ".", "..") and ":" not in part for part in name.replace("\\", "/").split("/"))


def check_target(target: Path) -> None:
    """Raises SurroundingsError("export_target_taken") where writing to `target` would mix with what is not ours."""
    if target.is_file():
        raise _taken(target, "is a file")
    if target.is_dir() and any(target.iterdir()) and read_record(target) is None:
        raise _taken(target, "is not empty and holds no export of ours")


def _taken(target: Path, why: str) -> SurroundingsError:
    return SurroundingsError(
        "export_target_taken", f"{target} {why}.", "Choose a new or an empty folder.", where=str(target)
    )


@contextlib.contextmanager
def staged(target: Path, record: ExportRecord, needed_bytes: int) -> Iterator[Path]:
    """A temporary folder to write into; when the block ends well its files become the export at `target`.

    When it ends badly `target` is as it was. Raises SurroundingsError ("export_target_taken", "disk_full", …).
    """
    check_target(target)
    require_space(target.parent, needed_bytes)
    temporary = temporary_beside(target)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        whole = msgspec.structs.replace(record, complete=True, files=_describe(temporary))
        _write_record(temporary, whole)
        _sync_files(temporary)
        earlier = read_record(target)
        if earlier is None:
            rename_folder(temporary, target)
        else:
            _replace_files(temporary, target, earlier, whole)
    except OSError as error:
        raise disk_error(error, target) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _describe(folder: Path) -> dict[str, FileRecord]:
    return {
        path.relative_to(folder).as_posix(): FileRecord(file_sha256(path), path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _write_record(folder: Path, record: ExportRecord) -> None:
    write_atomically(folder / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1))


def _sync_files(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                disk().sync(file)
    sync_folder(folder)


def _replace_files(source: Path, target: Path, earlier: ExportRecord, now: ExportRecord) -> None:
    """Our earlier files go, our new ones come; a file that is in neither list is not touched."""
    union = {**earlier.files, **now.files}
    _write_record(target, msgspec.structs.replace(earlier, complete=False, files=union))
    for name in now.files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        disk().replace(source / name, target / name)
    for name in earlier.files.keys() - now.files.keys():
        (target / name).unlink(missing_ok=True)
    _write_record(target, now)
    sync_folder(target)
