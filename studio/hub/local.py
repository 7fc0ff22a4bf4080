"""Models on this disk: the Hub's cache, and folders that the user chose. Works without a network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from huggingface_hub import scan_cache_dir
from huggingface_hub.errors import CacheNotFound
from huggingface_hub.utils import CachedRepoInfo, CachedRevisionInfo  # type: ignore[attr-defined]  # exported lazily

from engine.protocol.errors import Problem, SurroundingsError
from engine.protocol.recipe import ModelRef
from studio.hub import model_files
from studio.hub.details import parse_config
from studio.hub.records import Config, Deletion, LocalModel, LocalScan, Verdict
from studio.hub.verdict import MISSING, Architectures, judge, missing_file


class LocalModels:
    """Lists, finds and deletes models of one cache and some folders. Blocking; for worker threads."""

    def __init__(self, cache: Path, folders: Sequence[Path], architectures: Architectures) -> None:
        self._cache = cache
        self._folders = folders
        self._architectures = architectures

    def scan(self) -> LocalScan:
        """Everything that looks like a model, incomplete ones marked, by name; and cache entries that are damaged."""
        cached, problems = self._scan_cache()
        chosen = [self._in_folder(folder) for folder in _model_folders(self._folders)]
        models = sorted([*cached, *chosen], key=lambda model: (model.label.lower(), model.commit))
        return LocalScan(tuple(models), tuple(problems))

    def find(self, reference: ModelRef) -> LocalModel:
        """The whole model that a recipe names. Raises SurroundingsError: "model_not_on_disk" or "model_incomplete"."""
        model = self._look_up(reference)
        if model is None:
            raise SurroundingsError(
                "model_not_on_disk",
                f"The model {reference.label()} is not on this disk.",
                "Download it first.",
                model=reference.label(),
                revision=reference.revision,
            )
        if model.missing:
            raise SurroundingsError(
                "model_incomplete",
                f"The model {model.label} is not whole: {', '.join(model.missing)} missing.",
                "Let its download end, or start it again.",
                model=model.label,
                files=", ".join(model.missing),
            )
        return model

    def _look_up(self, reference: ModelRef) -> LocalModel | None:
        if reference.source == "folder":
            folder = Path(reference.path).expanduser()
            return self._in_folder(folder) if folder.is_dir() else None
        wanted = reference.revision or "main"
        found = [model for model in self._scan_cache()[0] if model.repository == reference.repository]
        return next((model for model in found if wanted in (model.commit, *model.revisions)), None)

    def deletion(self, model: LocalModel) -> Deletion:
        """What `delete` would remove."""
        if model.origin == "folder":
            files = [path for path in _files_of(Path(model.path)) if model_files.is_surely_of_a_model(path.name)]
            return Deletion(tuple(str(file) for file in files), sum(file.stat().st_size for file in files))
        strategy = scan_cache_dir(self._cache).delete_revisions(model.commit)
        paths = sorted([*strategy.repos, *strategy.snapshots, *strategy.refs, *strategy.blobs])
        return Deletion(tuple(str(path) for path in paths), strategy.expected_freed_size)

    def delete(self, model: LocalModel) -> int:
        """Delete the model's files; returns the bytes that this freed. Raises SurroundingsError or OSError.

        From a chosen folder only the files of the model go, and the folder if nothing else is in it.
        """
        planned = self.deletion(model)
        if model.origin == "folder":
            for path in planned.paths:
                Path(path).unlink()
            if not any(Path(model.path).iterdir()):
                Path(model.path).rmdir()
            return planned.freed_bytes
        scan_cache_dir(self._cache).delete_revisions(model.commit).execute()
        if Path(model.path).exists():
            raise SurroundingsError(
                "delete_failed", f"{model.path} could not be deleted.", "Check its permissions.", path=model.path
            )
        return planned.freed_bytes

    def _scan_cache(self) -> tuple[list[LocalModel], list[Problem]]:
        try:
            found = scan_cache_dir(self._cache)
        except CacheNotFound:
            return [], []
        models = [
            self._cached(repository, revision)
            for repository in found.repos
            if repository.repo_type == "model"
            for revision in repository.revisions
        ]
        problems = [
            Problem("cache_entry_damaged", f"{warning}", "Delete the folder, or download the model again.")
            for warning in found.warnings
            if "Snapshots dir doesn't exist" not in str(warning)  # a download that has just begun
        ]
        return models, problems

    def _cached(self, repository: CachedRepoInfo, revision: CachedRevisionInfo) -> LocalModel:
        folder = Path(revision.snapshot_path)
        names = [Path(file.file_path).relative_to(folder).as_posix() for file in revision.files]
        config, missing, verdict = self._judged(folder, names)
        return LocalModel(
            origin="cache",
            label=repository.repo_id,
            repository=repository.repo_id,
            revisions=tuple(sorted(revision.refs)),
            commit=revision.commit_hash,
            path=str(folder),
            size_bytes=revision.size_on_disk,
            last_used_utc=_utc(max((file.blob_last_accessed for file in revision.files), default=None)),
            missing=missing,
            config=config,
            verdict=verdict,
        )

    def _in_folder(self, folder: Path) -> LocalModel:
        files = list(_files_of(folder))
        config, missing, verdict = self._judged(folder, [file.name for file in files])
        return LocalModel(
            origin="folder",
            label=folder.name,
            repository="",
            revisions=(),
            commit="",
            path=str(folder),
            size_bytes=sum(file.stat().st_size for file in files),
            last_used_utc=_utc(max((file.stat().st_atime for file in files), default=None)),
            missing=missing,
            config=config,
            verdict=verdict,
        )

    def _judged(self, folder: Path, names: Sequence[str]) -> tuple[Config | None, tuple[str, ...], Verdict]:
        config_file = folder / model_files.CONFIG
        config = (
            parse_config(config_file.read_text(encoding="utf-8", errors="replace")) if config_file.is_file() else None
        )
        verdict = judge(config, names, self._architectures)
        missing = {str(p.arguments["file"]) for p in verdict.problems if p.code == MISSING}
        promised = sorted(_promised_by_index(folder / model_files.INDEX) - set(names) - missing)
        if promised:
            verdict = Verdict("refused", (*verdict.problems, *(missing_file(name) for name in promised)))
        return config, tuple(sorted(missing.union(promised))), verdict


def _promised_by_index(index: Path) -> set[str]:
    try:
        content = json.loads(index.read_bytes())
        return {str(name) for name in content["weight_map"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def _model_folders(folders: Iterable[Path]) -> Iterator[Path]:
    """Each chosen folder that is a model, or else those directly below it that are."""
    for folder in folders:
        candidates = [folder] if _is_model(folder) else sorted(folder.iterdir()) if folder.is_dir() else []
        yield from (candidate for candidate in candidates if _is_model(candidate))


def _is_model(folder: Path) -> bool:
    return (folder / model_files.CONFIG).is_file() and any(folder.glob("*.safetensors"))


def _files_of(folder: Path) -> Iterator[Path]:
    """The files of a model folder that belong to the model."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and (model_files.is_needed(path.name) or path.suffix == ".safetensors"):
            yield path


def _utc(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds is not None else None
