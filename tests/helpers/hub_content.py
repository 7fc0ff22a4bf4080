"""What the test Hub holds: accounts and model repositories, and how the Hub's API words them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal  # Any: bodies of a JSON API

import yaml

Gated = Literal["auto", "manual", False]
Json = dict[str, Any]


@dataclass(frozen=True)
class StoredFile:
    """One file of a repository: its bytes and the two names that a Hub gives them."""

    name: str
    data: bytes
    large: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def git_hash(self) -> str:
        """What git calls the blob; for a large file the blob is the small text that points to it."""
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.data)}\n"
        content = pointer.encode() if self.large else self.data
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.git_hash


@dataclass
class Account:
    """Somebody with a token. `accepted` are the gated repositories whose licence they accepted."""

    name: str
    accepted: set[str] = field(default_factory=set)
    role: str = "read"


@dataclass
class Repository:
    """A model repository with one commit a revision name."""

    name: str
    files: dict[str, StoredFile]
    gated: Gated = False
    private: bool = False
    downloads: int = 0
    likes: int = 0
    pipeline: str = "text-generation"
    branches: tuple[str, ...] = ("main",)

    @property
    def commit(self) -> str:
        text = "".join(f"{file.name}{file.git_hash}" for file in self.files.values())
        return hashlib.sha1(text.encode()).hexdigest()

    def knows(self, revision: str) -> bool:
        return revision in self.branches or revision == self.commit

    @property
    def config(self) -> Json:
        file = self.files.get("config.json")
        return json.loads(file.data) if file else {}

    @property
    def card(self) -> Json:
        text = self.files["README.md"].data.decode() if "README.md" in self.files else ""
        return yaml.safe_load(text.split("---")[1]) if text.startswith("---") else {}

    @property
    def parameters(self) -> int:
        """Elements of all tensors in the safetensors files, as their headers say."""
        total = 0
        for file in self.files.values():
            if file.name.endswith(".safetensors"):
                header = json.loads(file.data[8 : 8 + int.from_bytes(file.data[:8], "little")])
                for name, entry in header.items():
                    size = 1
                    for side in entry["shape"] if name != "__metadata__" else (0,):
                        size *= side
                    total += size
        return total

    @property
    def tags(self) -> list[str]:
        endings = {name.rpartition(".")[2] for name in self.files}
        kinds: list[str] = [kind for kind in ("safetensors", "gguf") if kind in endings]
        kinds += ["conversational"] if "tokenizer_config.json" in self.files else []
        licence = self.card.get("license")
        return ["transformers", *kinds, *([f"license:{licence}"] if licence else [])]

    def in_brief(self) -> Json:
        """The repository as it stands in a search result."""
        kept = ("architectures", "model_type", "auto_map", "quantization_config")
        body: Json = {
            "id": self.name,
            "modelId": self.name,
            "author": self.name.partition("/")[0],
            "sha": self.commit,
            "lastModified": "2026-11-02T10:00:00.000Z",
            "createdAt": "2026-01-02T10:00:00.000Z",
            "private": self.private,
            "gated": self.gated,
            "disabled": False,
            "downloads": self.downloads,
            "likes": self.likes,
            "library_name": "transformers",
            "pipeline_tag": self.pipeline,
            "tags": self.tags,
            "config": {key: value for key, value in self.config.items() if key in kept},
        }
        if self.parameters:
            body["safetensors"] = {"parameters": {"F32": self.parameters}, "total": self.parameters}
        return body

    def in_full(self, with_blobs: bool) -> Json:
        """The repository as `/api/models/<name>` tells it."""
        return {
            **self.in_brief(),
            "cardData": self.card,
            "siblings": [self._sibling(f, with_blobs) for f in self._all()],
        }

    def tree(self) -> list[Json]:
        """The files as `/api/models/<name>/tree/<revision>` lists them."""
        return [
            {"type": "file", "path": f.name, "oid": f.git_hash, "size": len(f.data), **_lfs(f)} for f in self._all()
        ]

    def _all(self) -> list[StoredFile]:
        return [self.files[name] for name in sorted(self.files)]

    @staticmethod
    def _sibling(file: StoredFile, with_blobs: bool) -> Json:
        if not with_blobs:
            return {"rfilename": file.name}
        large = {"lfs": {"sha256": file.sha256, "size": len(file.data), "pointerSize": 134}} if file.large else {}
        return {"rfilename": file.name, "size": len(file.data), "blobId": file.git_hash, **large}


def _lfs(file: StoredFile) -> Json:
    return {"lfs": {"oid": file.sha256, "size": len(file.data), "pointerSize": 134}} if file.large else {}


def read_folder(folder: Path) -> dict[str, StoredFile]:
    """The files of `folder`; as on the Hub, weights and tokenizers are stored as large files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            large = name.endswith((".safetensors", ".bin", ".gguf", "tokenizer.json"))
            found[name] = StoredFile(name, path.read_bytes(), large)
    return found


def search(repositories: list[Repository], query: dict[str, list[str]]) -> list[Repository]:
    """The repositories that a query of `/api/models` finds, in its order."""
    first = {key: values[0] for key, values in query.items()}
    tests: list[Callable[[Repository], bool]] = [lambda r: not r.private]
    if "search" in first:
        tests.append(lambda r: first["search"].lower() in r.name.lower())
    if "author" in first:
        tests.append(lambda r: r.name.startswith(first["author"] + "/"))
    if "gated" in first:
        tests.append(lambda r: bool(r.gated) == (first["gated"].lower() == "true"))
    if "pipeline_tag" in first:
        tests.append(lambda r: r.pipeline == first["pipeline_tag"])
    if "num_parameters" in first:
        bounds = dict(part.split(":") for part in first["num_parameters"].split(","))
        low, high = int(bounds.get("min", 0)), int(bounds.get("max", 10**15))
        tests.append(lambda r: low <= r.parameters <= high)
    wanted = set(query.get("filter", []))
    tests.append(lambda r: wanted <= set(r.tags))
    found = [r for r in repositories if all(test(r) for test in tests)]
    key = first.get("sort", "downloads")
    return sorted(found, key=lambda r: r.likes if key == "likes" else r.downloads, reverse=True)
