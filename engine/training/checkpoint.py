"""Checkpoints: complete or absent, whatever happens while they are written.

    .step-00000100.<random>.tmp/   tensors streamed in, each file synced, the manifest last
            └──rename──► step-00000100/   manifest.json names every file with its size and sha256

A folder without a manifest is no checkpoint. Deleting removes the manifest first, so that a kill half-way through
leaves something that is ignored and swept up by the next attempt, never something that looks whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.errors import SurroundingsError
from engine.protocol.files import rename_folder, sync_folder, temporary_beside, write_atomically
from engine.training.disk_errors import disk_error, require_space
from engine.training.safetensors_file import Array, TensorEntry, write_safetensors

MANIFEST = "manifest.json"
ADAPTER_FILE = "adapter_model.safetensors"
"""The trained weights of a LoRA run, under PEFT's names; full fine-tuning has `model.safetensors`."""
PEFT_PREFIX = "base_model.model."
READ_CHUNK_BYTES = 8 << 20


class FileRecord(msgspec.Struct, frozen=True):
    """One file of a checkpoint."""

    sha256: str
    bytes: int


class TrainingState(msgspec.Struct, frozen=True, kw_only=True):
    """Where the run stands, beside its tensors. `micro_batches` is the position in the data, over all epochs."""

    step: int
    updates: int
    micro_batches: int
    trained_tokens: int
    consecutive_skips: int = 0
    last_loss: float | None = None
    evaluation_loss: float | None = None
    best_evaluation_loss: float | None = None
    best_step: int | None = None


class CheckpointManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`. `numerics` is what must be equal for a resume to continue the same numbers."""

    run: str
    attempt: int
    time_utc: str
    method: str
    precision: str
    base_model: dict[str, str]
    numerics: dict[str, object]
    state: TrainingState
    files: dict[str, FileRecord] = {}
    version: int = VERSION


@dataclass(frozen=True)
class TensorFile:
    """One safetensors file to write: its tensors, and where each comes from when its turn comes."""

    name: str
    entries: list[TensorEntry]
    read: Callable[[TensorEntry], Array]


@dataclass(frozen=True)
class SavedCheckpoint:
    """`sha256` is that of the manifest, which names the hash of every file: it stands for the whole."""

    path: Path
    sha256: str
    size_bytes: int
    seconds: float


def save_checkpoint(target: Path, files: list[TensorFile], manifest: CheckpointManifest) -> SavedCheckpoint:
    """Write a checkpoint to `target`. Of an existing complete one of the same step the tensors stay; an evaluation that
    it does not know yet is noted in it.

    Raises SurroundingsError ("disk_full", …); nothing is left behind then.
    """
    began = time.monotonic()
    if (target / MANIFEST).is_file():
        _note_evaluation(target, manifest.state)
        return _described(target, began)
    require_space(target.parent, sum(entry.bytes for file in files for entry in file.entries) + (1 << 20))
    temporary = temporary_beside(target)
    try:
        temporary.mkdir(parents=True)
        records = {}
        for file in files:
            path = temporary / file.name
            digest = write_safetensors(path, file.entries, file.read, {"format": "pt"})
            records[file.name] = FileRecord(digest, path.stat().st_size)
        whole = msgspec.structs.replace(manifest, files=records)
        _write_manifest(temporary, whole)
        sync_folder(temporary)
        if target.exists():  # left by a kill in the middle of deleting: no manifest, so no checkpoint
            shutil.rmtree(target)
        rename_folder(temporary, target)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise disk_error(error, target) from error
    return _described(target, began)


def _write_manifest(folder: Path, manifest: CheckpointManifest) -> None:
    write_atomically(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))


def _note_evaluation(target: Path, state: TrainingState) -> None:
    before = read_manifest(target)
    if before.state.evaluation_loss is not None or state.evaluation_loss is None:
        return
    try:
        _write_manifest(target, msgspec.structs.replace(before, state=state))
    except OSError as error:
        raise disk_error(error, target) from error


def _described(target: Path, began: float) -> SavedCheckpoint:
    size = sum(path.stat().st_size for path in target.iterdir())
    return SavedCheckpoint(target, checkpoint_hash(target), size, time.monotonic() - began)


def checkpoint_hash(folder: Path) -> str:
    """The sha256 of the manifest: the checkpoint's name by content."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def read_manifest(folder: Path) -> CheckpointManifest:
    """Raises SurroundingsError("checkpoint_broken") or ("checkpoint_too_new")."""
    try:
        raw = (folder / MANIFEST).read_bytes()
        manifest = msgspec.json.decode(raw, type=CheckpointManifest)
    except (OSError, msgspec.DecodeError) as error:
        raise _broken(folder, f"its manifest cannot be read ({error})") from error
    if manifest.version > VERSION:
        raise SurroundingsError(
            "checkpoint_too_new",
            f"{folder.name} was written by a newer release (version {manifest.version}).",
            "Update Anneal Studio.",
            where=str(folder),
        )
    return manifest


def verify_checkpoint(folder: Path, manifest: CheckpointManifest) -> None:
    """Compare every file with the manifest. Raises SurroundingsError("checkpoint_broken") that names the file."""
    for name, record in manifest.files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != record.bytes:
            raise _broken(folder, f"{name} is missing or has another size")
        if file_sha256(path) != record.sha256:
            raise _broken(folder, f"{name} is not what was written")


def file_sha256(path: Path) -> str:
    """The sha256 of a file in hex, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(READ_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _broken(folder: Path, why: str) -> SurroundingsError:
    return SurroundingsError(
        "checkpoint_broken",
        f"Checkpoint {folder.name} is damaged: {why}.",
        "Use another one; to resume from the one before, delete this folder.",
        where=str(folder),
    )


def steps_to_delete(losses: dict[int, float | None], *, keep_last: int, keep_best: int) -> list[int]:
    """Which steps the keeping rule lets go. `losses` maps each checkpoint's step to its evaluation loss, if it has one.

    The newest always stays, whatever the numbers say.
    """
    newest = sorted(losses, reverse=True)[: max(1, keep_last)]
    judged = sorted((loss, step) for step, loss in losses.items() if loss is not None)
    best = [step for _, step in judged[:keep_best]]
    return sorted(set(losses) - set(newest) - set(best))


def delete_checkpoint(folder: Path) -> None:
    """Manifest first: from then on it is no checkpoint. Raises OSError."""
    (folder / MANIFEST).unlink()
    shutil.rmtree(folder)


def sweep(checkpoint_root: Path) -> None:
    """Remove what a killed attempt left half-written or half-deleted."""
    if not checkpoint_root.is_dir():
        return
    for folder in [*checkpoint_root.glob(".step-*.tmp"), *checkpoint_root.glob("step-*")]:
        if folder.name.startswith(".") or not (folder / MANIFEST).is_file():
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
