"""What the Hub told us about a commit, kept on disk: a commit never changes, so it is asked for once.

hub-index/<endpoint>/<organisation>--<name>/commits/<commit>.json    the details
                                            revisions/<revision>     the commit that a branch was last seen at
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import quote

import msgspec

from engine.protocol.files import write_atomically
from studio.hub.records import ModelDetails


class IndexCache:
    """Details by commit, below one folder. Unreadable entries are as good as none: the Hub is asked again."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder = folder / hashlib.sha256(endpoint.encode()).hexdigest()[:12]

    def load(self, repository: str, revision: str) -> ModelDetails | None:
        """The details last seen for a commit, branch or tag; None where there are none."""
        place = self._place(repository)
        try:
            seen = place / "revisions" / quote(revision, safe="")
            commit = seen.read_text(encoding="utf-8") if seen.exists() else revision
            found = msgspec.json.decode(
                (place / "commits" / f"{quote(commit, safe='')}.json").read_bytes(), type=ModelDetails
            )
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return msgspec.structs.replace(found, revision=revision)

    def store(self, details: ModelDetails) -> None:
        """Keep the details, and where their revision stands. Raises OSError."""
        place = self._place(details.repository)
        for folder in (place / "commits", place / "revisions"):
            folder.mkdir(parents=True, exist_ok=True)
        write_atomically(place / "commits" / f"{details.commit}.json", msgspec.json.encode(details))
        if details.revision != details.commit:
            write_atomically(place / "revisions" / quote(details.revision, safe=""), details.commit)

    def _place(self, repository: str) -> Path:
        return self._folder / repository.replace("/", "--")
