"""What the Hub, the disk and our downloads look like in our words. Importing this costs nothing but msgspec."""

from __future__ import annotations

from typing import Any, Literal  # Any: a model's config.json is whatever its author wrote

import msgspec

from engine.protocol.errors import Problem

Gating = Literal["open", "auto", "manual"]
"""Whether a repository asks for a licence to be accepted: not at all, admitted at once, or admitted by hand."""

Access = Literal["open", "granted", "ask"]
Sort = Literal["downloads", "likes", "updated", "created", "trending"]
TrainableState = Literal["trainable", "refused", "unknown"]
TokenSource = Literal["none", "stored", "environment"]
Origin = Literal["cache", "folder"]
Config = dict[str, Any]  # Any: see the import


class Verdict(msgspec.Struct, frozen=True):
    """Can this model be trained? `problems` say why not, the weightiest first. "unknown": it cannot be told yet."""

    state: TrainableState
    problems: tuple[Problem, ...] = ()


class SearchQuery(msgspec.Struct, frozen=True):
    """What to look for. `tags` are the Hub's own (`conversational`, `license:mit`); parameters are counts."""

    text: str = ""
    author: str = ""
    gated: bool | None = None
    licence: str = ""
    tags: tuple[str, ...] = ()
    minimum_parameters: int | None = None
    maximum_parameters: int | None = None
    sort: Sort = "downloads"


class ModelSummary(msgspec.Struct, frozen=True):
    """One row of a search. None: the Hub does not say. `weight_bytes` is reckoned from the tensors' dtypes."""

    repository: str
    author: str
    name: str
    architecture: str | None
    parameters: int | None
    weight_bytes: int | None
    downloads: int | None
    likes: int | None
    gating: Gating
    licence: str | None
    tags: tuple[str, ...]
    updated_utc: str | None
    verdict: Verdict


class SearchPage(msgspec.Struct, frozen=True):
    """A slice of the results; `is_last` when nothing follows."""

    models: tuple[ModelSummary, ...]
    is_last: bool


class ModelFile(msgspec.Struct, frozen=True):
    """A file of a repository. `is_needed`: training wants it, so a download fetches it."""

    name: str
    size_bytes: int | None
    is_needed: bool


class ModelDetails(msgspec.Struct, frozen=True):
    """Everything about one commit of a model. `problem` says why config or card could not be read (gated, say)."""

    repository: str
    revision: str
    commit: str
    gating: Gating
    access: Access
    page: str
    licence: str | None
    parameters: int | None
    downloads: int | None
    likes: int | None
    tags: tuple[str, ...]
    updated_utc: str | None
    files: tuple[ModelFile, ...]
    config: Config | None
    card: str | None
    verdict: Verdict
    problem: Problem | None = None

    @property
    def download_bytes(self) -> int:
        """What a download would fetch; files of unknown size count as nothing."""
        return sum(file.size_bytes or 0 for file in self.files if file.is_needed)


class Revision(msgspec.Struct, frozen=True):
    """A branch or tag, and the commit that it stands for."""

    name: str
    commit: str


class LocalModel(msgspec.Struct, frozen=True):
    """A model on this disk. `missing` names files without which it cannot be used; then it is incomplete."""

    origin: Origin
    label: str
    repository: str
    revisions: tuple[str, ...]
    commit: str
    path: str
    size_bytes: int
    last_used_utc: str | None
    missing: tuple[str, ...]
    config: Config | None
    verdict: Verdict

    @property
    def is_complete(self) -> bool:
        return not self.missing


class LocalScan(msgspec.Struct, frozen=True):
    """The models on this disk, and what in the cache could not be read."""

    models: tuple[LocalModel, ...]
    problems: tuple[Problem, ...] = ()


class Deletion(msgspec.Struct, frozen=True):
    """What deleting a model would remove, and the bytes that this frees (content shared with others stays)."""

    paths: tuple[str, ...]
    freed_bytes: int


class AccountState(msgspec.Struct, frozen=True):
    """Who we are to the Hub. `source` says where the token comes from; `problem` why it does not work."""

    signed_in: bool
    name: str = ""
    role: str = ""
    source: TokenSource = "none"
    problem: Problem | None = None
