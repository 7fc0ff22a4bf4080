"""Every test gets surroundings of its own: homes and caches in a temporary folder, and no network but loopback."""

from __future__ import annotations

import ipaddress
import os
import socket
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

_UNSET = (
    "ANNEAL_NO_WINDOW", "HF_ENDPOINT", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN", "HF_TOKEN_PATH", "HF_XET_CACHE",
    "HUGGING_FACE_HUB_TOKEN", "TRANSFORMERS_CACHE", "XDG_RUNTIME_DIR",
)  # fmt: skip
_FOLDERS = {
    "HOME": "home", "ANNEAL_HOME": "anneal", "HF_HOME": "huggingface", "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config", "XDG_DATA_HOME": "home/.local/share", "XDG_STATE_HOME": "home/.local/state",
}  # fmt: skip


def pytest_configure() -> None:
    """Before any test module is imported: libraries that read these variables once must not see the user's own."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    for name in _UNSET:
        os.environ.pop(name, None)
    os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="anneal-tests-huggingface-")


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point each home and cache into the test's own folder; a test that wants one of `_UNSET` sets it itself."""
    root = tmp_path_factory.mktemp("surroundings")
    for name, folder in _FOLDERS.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(name, str(root / folder))
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)


class RealNetworkUsed(RuntimeError):
    """A test reached for an address outside this machine."""


def _is_loopback(host: object) -> bool:
    if host in ("localhost", "", None):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse every other address, and fail the test even where the code under test swallowed the refusal."""
    reached: list[object] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def refuse(host: object) -> None:
        reached.append(host)
        raise RealNetworkUsed(f"a test may speak to loopback only, not to {host}")

    def guarded_connect(self: socket.socket, address: Any) -> None:  # Any: the address's shape depends on the family
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            refuse(address[0])
        connect(self, address)

    def guarded_look_up(host: Any, *rest: Any, **named: Any) -> Any:  # Any: handed through as they came
        if not _is_loopback(host.decode() if isinstance(host, bytes) else host):
            refuse(host)
        return look_up(host, *rest, **named)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)
    yield
    assert not reached, f"reached for {reached}: a test may speak to loopback only"
