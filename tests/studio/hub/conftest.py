"""A Hub on this machine, small models on it, and a home of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

import studio.hub.session as hub_session
from studio.home import Home, open_home
from studio.settings import Settings
from tests.helpers.hub_server import HubServer
from tests.helpers.tiny_models import write_tiny_llama


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama's folder (tests copy it before they change it)."""
    return write_tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture
def hub_server() -> Iterator[HubServer]:
    hub_session.install()  # the ecosystem's own calls in these tests send no telemetry either
    with HubServer() as server:
        yield server
        close_session()


@pytest.fixture
def settings(hub_server: HubServer, tmp_path: Path) -> Settings:
    """Settings that point at the test's Hub, home and cache."""
    return Settings(hub_endpoint=hub_server.endpoint, hub_home=str(tmp_path / "hf"), hub_cache=str(tmp_path / "cache"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


@pytest.fixture
def quick_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on a silent server sooner than a person would want to."""
    monkeypatch.setattr(hub_session, "CONNECT_SECONDS", 1.0)
    monkeypatch.setattr(hub_session, "READ_SECONDS", 1.0)
