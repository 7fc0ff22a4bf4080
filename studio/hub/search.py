"""Searching the Hub, a page at a time, on a worker thread; another thread may cancel."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any  # Any: huggingface_hub types a model's card as a mapping of anything

from huggingface_hub.hf_api import ModelInfo

from engine.protocol.errors import SurroundingsError
from studio.hub.connection import Connection
from studio.hub.records import Gating, ModelSummary, SearchPage, SearchQuery, Sort
from studio.hub.session import HubCancelled
from studio.hub.verdict import Architectures, architecture_of, judge_summary

PAGE = 50
# A listing cannot be asked to begin in the middle, so each further request asks for more and skips what was seen.
DEPTHS = (50, 200, 1000)
EXPANDED = (
    "author",
    "config",
    "createdAt",
    "downloads",
    "gated",
    "lastModified",
    "likes",
    "safetensors",
    "sha",
    "tags",
)
SORTS: dict[Sort, str] = {
    "downloads": "downloads",
    "likes": "likes",
    "updated": "last_modified",
    "created": "created_at",
    "trending": "trending_score",
}
_BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}


class Search:
    """One search. `next_page` blocks and belongs to one worker thread; `cancel` may come from any."""

    def __init__(self, query: SearchQuery, connection: Connection, architectures: Architectures) -> None:
        self._query = query
        self._connection = connection
        self._architectures = architectures
        self._cancelled = threading.Event()
        self._seen: set[str] = set()
        self._results = self._walk()
        self._collected: list[ModelSummary] = []

    def cancel(self) -> None:
        """End the search: a waiting `next_page` raises HubCancelled before its next request."""
        self._cancelled.set()

    def next_page(self) -> SearchPage:
        """The next (up to `PAGE`) models. Raises HubCancelled, or SurroundingsError ("hub_…"): then ask again later."""
        try:
            with self._connection.call(cancelled=self._cancelled):
                while len(self._collected) < PAGE and (model := next(self._results, None)):
                    self._collected.append(model)
        except SurroundingsError:
            self._results = self._walk()  # a generator that raised is at its end; what was seen is skipped
            raise
        if self._cancelled.is_set():
            raise HubCancelled
        models, self._collected = self._collected, []
        return SearchPage(tuple(models), is_last=len(models) < PAGE)

    def _walk(self) -> Iterator[ModelSummary]:
        api = self._connection.api()
        for depth in DEPTHS:
            count = 0
            for info in api.list_models(**self._arguments(), limit=depth):
                count += 1
                if info.id not in self._seen:
                    self._seen.add(info.id)
                    yield summarise(info, self._architectures)
            if count < depth:
                return

    def _arguments(self) -> dict[str, Any]:  # Any: keyword arguments of different types
        query = self._query
        bounds = {"min": query.minimum_parameters, "max": query.maximum_parameters}
        parameters = ",".join(f"{side}:{count}" for side, count in bounds.items() if count is not None)
        tags = [*query.tags, *([f"license:{query.licence}"] if query.licence else [])]
        return {
            "search": query.text.strip() or None,
            "author": query.author or None,
            "gated": query.gated,
            "filter": tags or None,
            "num_parameters": parameters or None,
            "pipeline_tag": "text-generation",
            "sort": SORTS[query.sort],
            "expand": list(EXPANDED),
        }


def summarise(info: ModelInfo, architectures: Architectures) -> ModelSummary:
    """One of the Hub's rows in our words."""
    author, _, name = info.id.rpartition("/")
    tags = tuple(info.tags or ())
    parameters, weight_bytes = tensor_sizes(info)
    return ModelSummary(
        repository=info.id,
        author=info.author or author,
        name=name,
        architecture=architecture_of(info.config or {}),
        parameters=parameters,
        weight_bytes=weight_bytes,
        downloads=info.downloads,
        likes=info.likes,
        gating=gating_of(info),
        licence=licence_of(info),
        tags=tags,
        updated_utc=info.last_modified.isoformat() if info.last_modified else None,
        verdict=judge_summary(info.config, tags, architectures),
    )


def gating_of(info: ModelInfo) -> Gating:
    """Whether the repository is open."""
    return info.gated or "open"


def licence_of(info: ModelInfo) -> str | None:
    """The licence's short name: a tag, or for a licence of its own kind the name on the card."""
    tagged = next((tag.partition(":")[2] for tag in info.tags or () if tag.startswith("license:")), None)
    if tagged in (None, "other") and info.card_data:
        return info.card_data.license_name or info.card_data.license or tagged
    return tagged


def tensor_sizes(info: ModelInfo) -> tuple[int | None, int | None]:
    """Parameters and bytes of all safetensors, as the Hub read them from the headers."""
    if info.safetensors is None:
        return None, None
    weight_bytes = sum(count * _BYTES.get(dtype, 1) for dtype, count in info.safetensors.parameters.items())
    return info.safetensors.total, weight_bytes
