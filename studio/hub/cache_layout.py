"""The Hub's cache on disk, as `huggingface_hub` lays it out, so that everything that uses it finds what we fetched.

<cache>/models--<organisation>--<name>/blobs/<etag>             the bytes, each content once
                                       blobs/<etag>.part        ours: as far as they have come (and .validator)
                                       snapshots/<commit>/<file>  a link to the blob (a file where links do not work)
                                       refs/<revision>          the commit of a branch or tag
<cache>/.locks/models--<…>/<etag>.lock  held by whoever fetches that blob
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from pathlib import Path

from engine.protocol.errors import SurroundingsError
from engine.protocol.files import disk, sync_folder
from studio.hub.model_files import is_safe_name

_ETAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class RepositoryCache:
    """One model's folder in the cache. Names that come from a server are checked before they become paths."""

    def __init__(self, cache: Path, repository: str) -> None:
        folder = f"models--{repository.replace('/', '--')}"
        self.root = cache / folder
        self._locks = cache / ".locks" / folder
        self._cache = cache

    def blob(self, etag: str) -> Path:
        return self.root / "blobs" / _checked(_ETAG, etag)

    def part(self, etag: str) -> Path:
        """Where the bytes of an unfinished blob lie: on the cache's own filesystem, so that finishing is a rename."""
        return self.root / "blobs" / f"{_checked(_ETAG, etag)}.part"

    def lock(self, etag: str) -> Path:
        """The lock that `huggingface_hub` takes for the same blob."""
        return self._locks / f"{_checked(_ETAG, etag)}.lock"

    def snapshot(self, commit: str) -> Path:
        return self.root / "snapshots" / _checked(_COMMIT, commit)

    def pointer(self, commit: str, name: str) -> Path:
        """Where the ecosystem looks for a file of a commit."""
        if not is_safe_name(name):
            raise _hostile(name)
        return self.snapshot(commit).joinpath(*name.split("/"))

    def leftovers(self) -> list[Path]:
        """Every unfinished blob and what lies beside it."""
        return sorted(path for kind in ("*.part", "*.validator") for path in (self.root / "blobs").glob(kind))

    def prepare(self, etag: str) -> None:
        """Make the folders that fetching a blob needs."""
        self.part(etag).parent.mkdir(parents=True, exist_ok=True)
        self._locks.mkdir(parents=True, exist_ok=True)

    def finish(self, etag: str) -> None:
        """Give a verified part its final name."""
        disk().replace(self.part(etag), self.blob(etag))
        self.part(etag).with_suffix(".validator").unlink(missing_ok=True)
        sync_folder(self.blob(etag).parent)

    def link(self, etag: str, commit: str, name: str) -> None:
        """Let the commit's file be this blob: a relative link, or a copy where links do not work."""
        from huggingface_hub.file_download import are_symlinks_supported  # here: the import takes 0.2 s

        pointer, blob = self.pointer(commit, name), self.blob(etag)
        pointer.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._unfinished()
        try:
            if are_symlinks_supported(self._cache):
                temporary.symlink_to(os.path.relpath(blob, pointer.parent))
            else:
                shutil.copyfile(blob, temporary)
            disk().replace(temporary, pointer)
        finally:
            temporary.unlink(missing_ok=True)

    def write_ref(self, revision: str, commit: str) -> None:
        """Remember which commit a branch or tag is. Only once its snapshot is whole: offline, `main` must work."""
        if revision == commit:
            return
        if not is_safe_name(revision):
            raise _hostile(revision)
        ref = self.root.joinpath("refs", *revision.split("/"))
        ref.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._unfinished()
        with temporary.open("wb") as file:
            disk().write(file, commit.encode())
            disk().sync(file)
        disk().replace(temporary, ref)

    def _unfinished(self) -> Path:
        """A name for something that will be renamed into `snapshots` or `refs`.

        Not beside its goal: the ecosystem takes every file there for a file of the model or for a revision, and one
        that a kill left behind would make it call the whole model damaged.
        """
        return self.root / "blobs" / f"{secrets.token_hex(8)}.part"


def free_bytes(folder: Path) -> int:
    """Free space where `folder` is or would be made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _checked(pattern: re.Pattern[str], name: str) -> str:
    if not pattern.fullmatch(name):
        raise _hostile(name)
    return name


def _hostile(name: str) -> SurroundingsError:
    return SurroundingsError(
        "hub_bad_file_name",
        f"The repository names something {name!r}, which cannot be a file in the cache.",
        "Choose another model.",
        file=name,
    )
