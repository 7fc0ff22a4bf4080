"""The Hub as the window and the command line use it. Everything that blocks belongs on a worker thread.

`huggingface_hub` is imported by the first call and not with this file: that takes 0.2 s, which a window's first paint
does not have.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from engine.protocol.recipe import ModelRef
from studio.environment import child_environment
from studio.home import Home
from studio.hub.downloads import Downloads
from studio.hub.records import (
    Access,
    Deletion,
    LocalModel,
    LocalScan,
    ModelDetails,
    Revision,
    SearchQuery,
)
from studio.hub.verdict import Architectures
from studio.settings import Settings

if TYPE_CHECKING:
    from studio.hub.account import Account
    from studio.hub.connection import Connection
    from studio.hub.details import DetailsReader
    from studio.hub.local import LocalModels
    from studio.hub.search import Search


class Hub:
    """One home's view of the Hub under certain settings; changed settings want a new one (they are cheap)."""

    def __init__(self, home: Home, settings: Settings, architectures: Architectures) -> None:
        self._home = home
        self._settings = settings
        self._architectures = architectures

    def search(self, query: SearchQuery) -> Search:
        """A search that has not asked anything yet: call `next_page` on a worker thread, `cancel` from anywhere."""
        from studio.hub.search import Search

        return Search(query, self._connection, self._architectures)

    def details(self, repository: str, revision: str = "main") -> ModelDetails:
        """Blocking. Raises SurroundingsError("hub_…"); offline, what was last seen."""
        return self._details.read(repository, revision)

    def revisions(self, repository: str) -> tuple[Revision, ...]:
        """Branches and tags. Blocking. Raises SurroundingsError("hub_…")."""
        return self._details.revisions(repository)

    def access(self, repository: str) -> Access:
        """Whether a gated repository admits us by now. Blocking. Raises SurroundingsError("hub_…")."""
        return self._details.access(repository)

    def local(self) -> LocalScan:
        """The models on this disk. Blocking, no network."""
        return self._local.scan()

    def find(self, reference: ModelRef) -> LocalModel:
        """The whole model of a recipe on this disk. Blocking.

        Raises SurroundingsError("model_not_on_disk") or ("model_incomplete"), as while it is being downloaded.
        """
        return self._local.find(reference)

    def deletion(self, model: LocalModel) -> Deletion:
        """What deleting would remove and free. Blocking."""
        return self._local.deletion(model)

    def delete(self, model: LocalModel) -> int:
        """Delete a model's files; returns the bytes freed. Blocking. Raises SurroundingsError or OSError."""
        return self._local.delete(model)

    @cached_property
    def account(self) -> Account:
        """Sign in, check, sign out."""
        from studio.hub.account import Account

        return Account(self._connection, self._child_environment)

    @cached_property
    def downloads(self) -> Downloads:
        """Start, list, pause, cancel, resume, remove."""
        return Downloads(self._home.downloads, self.cache, self._child_environment)

    @cached_property
    def cache(self) -> Path:
        """The Hub's cache folder: of Settings, of HF_HUB_CACHE, below HF_HOME of Settings, or the usual one."""
        from huggingface_hub import constants

        if self._settings.hub_cache:
            return Path(self._settings.hub_cache).expanduser()
        named = any(os.environ.get(name) for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"))
        if self._settings.hub_home and not named:
            return Path(self._settings.hub_home).expanduser() / "hub"
        return Path(constants.HF_HUB_CACHE)

    def close(self) -> None:
        """The window closes; downloads go on."""
        if "downloads" in self.__dict__:
            self.downloads.close()

    def _child_environment(self) -> dict[str, str]:
        return child_environment(os.environ, self._settings, home=self._home.root)

    @cached_property
    def _connection(self) -> Connection:
        from studio.hub.connection import Connection

        return Connection.of(self._settings)

    @cached_property
    def _details(self) -> DetailsReader:
        from studio.hub.details import DetailsReader
        from studio.hub.index_cache import IndexCache

        cache = IndexCache(self._home.hub_index_cache, self._connection.address)
        return DetailsReader(cache, self._connection, self._architectures)

    @cached_property
    def _local(self) -> LocalModels:
        from studio.hub.local import LocalModels

        folders = [Path(folder).expanduser() for folder in self._settings.model_folders]
        return LocalModels(self.cache, folders, self._architectures)
