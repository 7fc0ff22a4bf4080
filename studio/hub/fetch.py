"""Bringing one commit of one model into the Hub's cache: which files, where they are, and patience with the network."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout
from huggingface_hub import get_hf_file_metadata, hf_hub_url
from huggingface_hub.hf_api import ModelInfo, RepoSibling

from engine.protocol.errors import Problem, SurroundingsError
from studio.hub import model_files
from studio.hub.board import Board
from studio.hub.cache_layout import RepositoryCache, free_bytes
from studio.hub.checksum import is_checkable
from studio.hub.connection import Connection
from studio.hub.download_state import DownloadRequest, FileState
from studio.hub.session import READ_SECONDS
from studio.hub.transfer import (
    Body,
    Source,
    Stopped,
    Transient,
    error_of,
    is_network_failure,
    network_failure,
    retry_after,
)

_LONGEST_PATIENCE_SECONDS = 3600.0
_MOST_CORRUPT = 2
_LOCK_POLL_SECONDS = 0.5
_PASSING_CODES = ("hub_busy", "hub_server_error", "hub_unreachable", "hub_bad_answer")

Result = TypeVar("Result")


class RepositoryFetch:
    """One attempt at one request. `run` returns when every needed file is in the cache under its final name."""

    def __init__(self, request: DownloadRequest, commit: str, board: Board, connection: Connection) -> None:
        self._request = request
        self._commit = commit
        self._board = board
        self._connection = connection
        self._cache = RepositoryCache(Path(request.cache), request.repository)
        self._bodies: dict[str, Body] = {}

    def run(self) -> str:
        """Returns the commit. Raises Stopped or SurroundingsError; what has come stays where it can be resumed."""
        try:
            info = self._retrying(self._listing)
            commit = info.sha or self._commit
            missing = self._plan(commit, info)
            self._check_space(missing)
            for name, etag in missing:
                self._board.begin(name)
                self._retrying(partial(self._bring, commit, name), partial(self._part_size, etag))
            self._cache.write_ref(self._request.revision, commit)
        except OSError as error:
            raise self._disk_error(error) from error
        return commit

    def _listing(self) -> ModelInfo:
        """A resumed download stays at the commit that it began with, even if the branch has moved on."""
        repository = self._request.repository
        with self._connection.call(repository):
            return self._connection.api().model_info(
                repository, revision=self._commit or self._request.revision, files_metadata=True, timeout=READ_SECONDS
            )

    def _plan(self, commit: str, info: ModelInfo) -> list[tuple[str, str]]:
        """Put every needed file on the board; returns (name, etag) of those that are not on disk yet."""
        siblings = {sibling.rfilename: sibling for sibling in info.siblings or ()}
        states, missing = [], []
        for name in model_files.needed_files(siblings):
            etag, size = _etag(siblings[name]), siblings[name].size or 0
            if self._on_disk(commit, name, etag, size):
                states.append(FileState(name, size, size, "on_disk"))
            else:
                states.append(FileState(name, size, self._part_size(etag)))
                missing.append((name, etag))
        if not states:
            raise SurroundingsError(
                "download_nothing",
                f"{self._request.repository} holds no file that a training could use.",
                "Choose another model.",
            )
        self._board.plan(commit, states)
        return missing

    def _on_disk(self, commit: str, name: str, etag: str, size: int) -> bool:
        pointer = self._cache.pointer(commit, name)
        if pointer.is_file() and pointer.stat().st_size == size:
            return True
        if etag and self._cache.blob(etag).is_file():  # another commit brought the same content
            self._cache.link(etag, commit, name)
            return True
        return False

    def _part_size(self, etag: str) -> int:
        part = self._cache.part(etag) if etag else None
        return part.stat().st_size if part and part.exists() else 0

    def _check_space(self, missing: list[tuple[str, str]]) -> None:
        progress = self._board.snapshot()
        names = {name for name, _ in missing}
        needed = sum(file.size_bytes - file.done_bytes for file in progress.files if file.name in names)
        free = free_bytes(Path(self._request.cache))
        if missing and needed + self._request.limits.disk_reserve_bytes > free:
            raise disk_full(self._request.cache, needed, free)

    def _bring(self, commit: str, name: str) -> None:
        """Fetch one file, or raise Transient to be called again."""
        home = hf_hub_url(self._request.repository, name, revision=commit, endpoint=self._connection.endpoint)
        headers = self._connection.headers()
        with self._connection.call(self._request.repository):
            metadata = get_hf_file_metadata(home, headers=headers, token=False, timeout=READ_SECONDS)
        etag, size = metadata.etag, metadata.size
        if etag is None or size is None or (metadata.commit_hash or commit) != commit:
            raise SurroundingsError(
                "hub_bad_answer", f"{self._connection.address} does not say what {name} is.", "Check HF_ENDPOINT."
            )
        self._cache.prepare(etag)
        with self._locked(etag):
            if not self._cache.blob(etag).is_file():
                body = self._bodies.setdefault(
                    etag, Body(self._cache.part(etag), etag, size, self._request.limits, self._board)
                )
                body.receive(Source(metadata.location, home, headers))
                self._cache.finish(etag)
            self._cache.link(etag, commit, name)
        self._board.end(name, "verified" if is_checkable(etag) else "unverified")

    @contextlib.contextmanager
    def _locked(self, etag: str) -> Iterator[None]:
        """The lock that `huggingface_hub` would take: somebody else may be fetching the same content."""
        lock = FileLock(self._cache.lock(etag))
        while not lock.is_locked:
            try:
                lock.acquire(timeout=_LOCK_POLL_SECONDS)
            except Timeout:
                self._board.waits(Problem("download_elsewhere", "Another program is fetching the same file.", ""))
                if self._board.stopping.is_set():
                    raise Stopped from None
        try:
            yield
        finally:
            lock.release()

    def _retrying(self, action: Callable[[], Result], position: Callable[[], int] = lambda: 0) -> Result:
        """Call `action` until it succeeds. Only attempts in a row that brought no byte count as failures."""
        before, failures, corrupt = position(), 0, 0
        while True:
            try:
                return action()
            except Exception as error:
                failure = self._as_transient(error)
            corrupt += failure.problem.code == "checksum_mismatch"
            failures = 1 if position() > before else failures + 1
            before = position()
            if failures >= self._request.limits.attempts or corrupt >= _MOST_CORRUPT:
                raise error_of(failure.problem)
            self._wait(failure, failures)

    def _as_transient(self, error: Exception) -> Transient:
        """The failure that a later attempt may not have; anything else is raised again."""
        if isinstance(error, Transient):
            return error
        if isinstance(error, SurroundingsError) and error.code in _PASSING_CODES:
            return Transient(error.problem(), retry_after(str(error.arguments.get("retry_after") or "")))
        if is_network_failure(error):
            return network_failure(error, self._connection.address)
        raise error

    def _wait(self, failure: Transient, failures: int) -> None:
        limits = self._request.limits
        seconds = min(limits.first_wait_seconds * 2 ** (failures - 1), limits.longest_wait_seconds)
        if failure.wait_seconds is not None:
            seconds = min(failure.wait_seconds, _LONGEST_PATIENCE_SECONDS)
        self._board.waits(failure.problem)
        if self._board.stopping.wait(seconds):
            raise Stopped

    def _disk_error(self, error: OSError) -> SurroundingsError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            left = self._board.snapshot()
            return disk_full(
                self._request.cache, left.total_bytes - left.done_bytes, free_bytes(Path(self._request.cache))
            )
        return SurroundingsError(
            "cache_unwritable",
            f"The model cache {self._request.cache} cannot be written: {error.strerror or error}.",
            "Check the folder and its permissions, or choose another cache in Settings.",
            path=self._request.cache,
        )


def disk_full(cache: str, needed: int, free: int) -> SurroundingsError:
    """Too little room for what is still to come."""
    return SurroundingsError(
        "disk_full",
        f"There is not enough room in {cache}: {needed:,} bytes are still to come, {free:,} are free.",
        "Free some space or choose a cache on another disk, then resume: what has come stays.",
        path=cache,
        needed_bytes=needed,
        free_bytes=free,
    )


def _etag(sibling: RepoSibling) -> str:
    """The blob's name as the listing gives it: SHA-256 of a large file, git's hash of a small one."""
    large = sibling.lfs
    return (large.sha256 if large else sibling.blob_id) or ""
