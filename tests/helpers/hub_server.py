"""A Hugging Face Hub on this machine, for the real `huggingface_hub` client and our downloader to speak to.

Two servers, as in life: the Hub (127.0.0.1) and the store of large files (localhost, another port), to which the Hub
redirects with a signed address and which must never see a token. Every request is recorded; faults (a cut at a byte, a
trickle, a stall, a busy answer, a wrong byte) are ordered beforehand and each is spent as often as it was ordered.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlencode

from tests.helpers.hub_content import Account, Gated, Repository, StoredFile, read_folder, search
from tests.helpers.hub_wire import Fault, Handler, Request

SIGNATURE = "X-Amz-Signature=s1gned"


class HubServer:
    """The Hub with its store; use it as a context manager. Addresses: `endpoint`, `store`."""

    def __init__(self, page_size: int = 20) -> None:
        self.page_size = page_size
        self.repositories: dict[str, Repository] = {}
        self.accounts: dict[str, Account] = {}
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._servers = [_server(self, _HubHandler), _server(self, _StoreHandler)]
        self._threads = [threading.Thread(target=s.serve_forever, args=(0.05,), daemon=True) for s in self._servers]
        self.endpoint = f"http://127.0.0.1:{self._servers[0].server_address[1]}"
        self.store = f"http://localhost:{self._servers[1].server_address[1]}"

    def __enter__(self) -> HubServer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            thread.join()
            with self._lock:
                for connection in self.connections:  # clients keep them open: their threads would wait for ever
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
            server.server_close()

    def add_model(
        self,
        name: str,
        folder: Path | None = None,
        *,
        files: Mapping[str, bytes] | None = None,
        gated: Gated = False,
        private: bool = False,
        downloads: int = 0,
        likes: int = 0,
    ) -> Repository:
        """Publish a folder, or the given files (none of them large), as a repository."""
        stored = read_folder(folder) if folder else {}
        stored |= {file: StoredFile(file, data, large=False) for file, data in (files or {}).items()}
        repository = Repository(name, stored, gated, private, downloads, likes)
        self.repositories[name] = repository
        return repository

    def order(self, kind: str, file: str, **details: object) -> None:
        """Order a fault: `order("cut", "model.safetensors", at=1000)`; the fields of `Fault` are the details."""
        self.faults.append(Fault(kind, file, **details))  # type: ignore[arg-type]  # the dataclass checks the names

    def spend(self, kinds: tuple[str, ...], path: str) -> Fault | None:
        """The next ordered fault of these kinds for this path, counted down."""
        with self._lock:
            for fault in self.faults:
                if fault.kind in kinds and fault.file in path and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections.discard(connection)

    def record(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def bodies(self, file: str) -> list[Request]:
        """The GET requests that asked for the body of `file`, wherever it lay, in order."""
        name = quote(file)
        return [r for r in self.requests if r.method == "GET" and r.path.endswith("/" + name)]


class _StoreHandler(Handler):
    """Large files by their sha256, for a signed address and without credentials, as an object store does it."""

    place = "store"

    def route(self, path: str, query: dict[str, list[str]]) -> None:
        if self.headers.get("Authorization"):
            return self.say(400, b"only one auth mechanism allowed")
        if SIGNATURE not in self.path:
            return self.say(403, b"signature")
        _, sha256, name = path.split("/", 2)
        for repository in self.hub.repositories.values():
            file = repository.files.get(name)
            if file and file.sha256 == sha256:
                return self.send_file(file, f"store-{sha256[:12]}", {})
        return self.say(404)


class _HubHandler(Handler):
    """The Hub's API and its `resolve` addresses."""

    place = "hub"

    def account(self) -> Account | None:
        return self.hub.accounts.get(self.headers.get("Authorization", "").removeprefix("Bearer "))

    def refuse(self, status: int, code: str, message: str) -> None:
        self.say(status, json.dumps({"error": message}).encode(), {"X-Error-Code": code, "X-Error-Message": message})

    def route(self, path: str, query: dict[str, list[str]]) -> None:
        if self.headers.get("Authorization") and self.account() is None:
            return self.say(401, b"{}", {"X-Error-Message": "Invalid credentials in Authorization header"})
        if path == "/api/models":
            return self._search(query)
        if path == "/api/whoami-v2":
            return self._who()
        parts = path.strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        owner_and_name = parts[2:4] if api else parts[:2]
        repository = self.hub.repositories.get("/".join(owner_and_name))
        if repository is None or (repository.private and self.account() is None):
            return self.refuse(404 if self.account() else 401, "RepoNotFound", "Repository not found")
        return self._api(repository, parts[4:], query) if api else self._resolve(repository, parts[2:])

    def _who(self) -> None:
        account = self.account()
        if account is None:
            return self.say(401, b"{}")
        token = {"displayName": f"{account.name}-token", "role": account.role}
        return self.say_json({"type": "user", "name": account.name, "auth": {"accessToken": token}})

    def _search(self, query: dict[str, list[str]]) -> None:
        found = search(list(self.hub.repositories.values()), query)
        begin = int(query.get("cursor", ["0"])[0])
        end = begin + min(self.hub.page_size, int(query.get("limit", ["1000"])[0]))
        headers = {}
        if end < len(found):
            following = urlencode({**query, "cursor": [end]}, doseq=True)
            headers["Link"] = f'<{self.hub.endpoint}/api/models?{following}>; rel="next"'
        self.say_json([repository.in_brief() for repository in found[begin:end]], headers)

    def _api(self, repository: Repository, rest: list[str], query: dict[str, list[str]]) -> None:
        kind = rest[0] if rest else "revision"
        revision = rest[1] if len(rest) > 1 else "main"
        if not repository.knows(revision):
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if kind == "revision":
            return self.say_json(repository.in_full(with_blobs="blobs" in query))
        if kind == "tree":
            return self.say_json(repository.tree())
        if kind == "refs":
            branches = [
                {"name": b, "ref": f"refs/heads/{b}", "targetCommit": repository.commit} for b in repository.branches
            ]
            return self.say_json({"branches": branches, "tags": [], "converts": []})
        if kind == "auth-check":
            return None if self._is_closed(repository) else self.say_json({})
        return self.say(404)

    def _is_closed(self, repository: Repository) -> bool:
        """Refuse somebody whom a gated repository does not admit; says whether it did."""
        if not repository.gated:
            return False
        account = self.account()
        if account and repository.name in account.accepted:
            return False
        self.refuse(403 if account else 401, "GatedRepo", f"Access to model {repository.name} is restricted.")
        return True

    def _resolve(self, repository: Repository, rest: list[str]) -> None:
        if len(rest) < 3 or rest[0] != "resolve" or not repository.knows(rest[1]):
            return self.refuse(404, "RevisionNotFound", "Invalid rev id")
        name = "/".join(rest[2:])
        file = repository.files.get(name)
        if file is None:
            return self.refuse(404, "EntryNotFound", "Entry not found")
        if self._is_closed(repository):
            return None
        headers = {"X-Repo-Commit": repository.commit}
        if not file.large:
            return self.send_file(file, file.git_hash, headers)
        expires = int(time.time()) + 3600
        headers["X-Linked-Size"] = str(len(file.data))
        headers["X-Linked-Etag"] = f'"{file.sha256}"'
        headers["ETag"] = f'"{file.git_hash}"'
        headers["Location"] = f"{self.hub.store}/{file.sha256}/{quote(name)}?Expires={expires}&{SIGNATURE}"
        return self.say(302, b"", headers)


def _server(hub: HubServer, handler: type[Handler]) -> ThreadingHTTPServer:
    bound = type(handler.__name__, (handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    server.daemon_threads = False  # so that closing joins them
    return server
