"""Everything about one model: files and sizes, commit, access, licence, config and card."""

from __future__ import annotations

import json
import re

import msgspec
from huggingface_hub import get_session, hf_hub_url
from huggingface_hub.errors import EntryNotFoundError, GatedRepoError
from huggingface_hub.hf_api import ModelInfo
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # exported lazily

from engine.protocol.errors import Problem, SurroundingsError
from studio.hub import model_files
from studio.hub.connection import Connection
from studio.hub.index_cache import IndexCache
from studio.hub.records import Access, Config, ModelDetails, ModelFile, Revision
from studio.hub.search import gating_of, licence_of, tensor_sizes
from studio.hub.session import READ_SECONDS, gated_error, model_page
from studio.hub.verdict import Architectures, judge

COMMIT = re.compile(r"[0-9a-f]{40}")
SMALL_FILE_BYTES = 2 * 1024 * 1024
CARD = "README.md"


class DetailsReader:
    """Reads details through the cache. Blocking; for worker threads."""

    def __init__(self, cache: IndexCache, connection: Connection, architectures: Architectures) -> None:
        self._cache = cache
        self._connection = connection
        self._architectures = architectures

    def read(self, repository: str, revision: str = "main") -> ModelDetails:
        """The details of a branch, tag or commit. Raises SurroundingsError ("hub_…").

        A commit that is in the cache costs no request. Offline, or where the Hub does not answer, a revision is told
        as it was last seen.
        """
        known = self._cache.load(repository, revision)
        if known and COMMIT.fullmatch(revision) and known.problem is None:
            return self._judged(known)
        try:
            return self._judged(self._ask(repository, revision))
        except SurroundingsError as error:
            if known and error.code in ("hub_offline", "hub_unreachable"):
                return self._judged(known)
            raise

    def access(self, repository: str) -> Access:
        """Whether our token is admitted: for polling after "Ask for access". Raises SurroundingsError ("hub_…")."""
        with self._connection.call(repository):
            try:
                self._connection.api().auth_check(repository)
            except GatedRepoError:
                return "ask"
            info = self._connection.api().model_info(repository, timeout=READ_SECONDS)
        return "granted" if info.gated else "open"

    def revisions(self, repository: str) -> tuple[Revision, ...]:
        """Branches, then tags. Raises SurroundingsError ("hub_…")."""
        with self._connection.call(repository):
            refs = self._connection.api().list_repo_refs(repository)
        return tuple(Revision(ref.name, ref.target_commit) for ref in [*refs.branches, *refs.tags])

    def _ask(self, repository: str, revision: str) -> ModelDetails:
        with self._connection.call(repository):
            info = self._connection.api().model_info(
                repository, revision=revision, files_metadata=True, timeout=READ_SECONDS
            )
        commit = info.sha or revision
        names = [sibling.rfilename for sibling in info.siblings or ()]
        config, card, access, problem = self._texts(repository, commit, names, info)
        details = ModelDetails(
            repository=repository,
            revision=revision,
            commit=commit,
            gating=gating_of(info),
            access=access,
            page=model_page(repository, self._connection.endpoint),
            licence=licence_of(info),
            parameters=tensor_sizes(info)[0],
            downloads=info.downloads,
            likes=info.likes,
            tags=tuple(info.tags or ()),
            updated_utc=info.last_modified.isoformat() if info.last_modified else None,
            files=tuple(
                ModelFile(s.rfilename, s.size, model_files.is_needed(s.rfilename)) for s in info.siblings or ()
            ),
            config=config,
            card=card,
            verdict=judge(config, names, self._architectures),
            problem=problem,
        )
        self._cache.store(details)
        return details

    def _texts(
        self, repository: str, commit: str, names: list[str], info: ModelInfo
    ) -> tuple[Config | None, str | None, Access, Problem | None]:
        """config.json and the card; for a gated repository that does not admit us, why not."""
        access: Access = "granted" if info.gated else "open"
        try:
            config = self._read(repository, commit, model_files.CONFIG) if model_files.CONFIG in names else None
            card = self._read(repository, commit, CARD) if CARD in names else None
        except SurroundingsError as error:
            if error.code != "hub_gated":
                raise
            return None, None, "ask", gated_error(repository, self._connection.endpoint).problem()
        return parse_config(config), card, access, None

    def _read(self, repository: str, commit: str, name: str) -> str | None:
        """A small text file at a commit; None where it is not there or is larger than a text should be."""
        url = hf_hub_url(repository, name, revision=commit, endpoint=self._connection.endpoint)
        with self._connection.call(repository):
            try:
                return _read_text(url, self._connection.headers())
            except EntryNotFoundError:
                return None

    def _judged(self, details: ModelDetails) -> ModelDetails:
        """With today's verdict: what the engine can do may have grown since the details were kept."""
        names = [file.name for file in details.files]
        verdict = judge(details.config, names, self._architectures)
        return msgspec.structs.replace(details, verdict=verdict)


def parse_config(text: str | None) -> Config | None:
    """config.json as a mapping; None where it is not one."""
    try:
        value = json.loads(text) if text else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _read_text(url: str, headers: dict[str, str]) -> str | None:
    received = b""
    with get_session().stream("GET", url, headers=headers, follow_redirects=True) as response:
        hf_raise_for_status(response)
        for chunk in response.iter_bytes():
            received += chunk
            if len(received) > SMALL_FILE_BYTES:
                return None
    return received.decode("utf-8", errors="replace")
