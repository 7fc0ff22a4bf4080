"""Searching and reading details, the real `huggingface_hub` speaking to a Hub on this machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine.models import registry
from engine.protocol.errors import SurroundingsError
from studio.home import Home
from studio.hub.client import Hub
from studio.hub.records import ModelSummary, SearchQuery
from studio.hub.session import HubCancelled
from studio.settings import Settings
from tests.helpers.hub_content import Account
from tests.helpers.hub_server import HubServer

CARD = b"---\nlicense: apache-2.0\n---\n# Tiny\nA tiny model.\n"


@pytest.fixture
def hub(home: Home, settings: Settings) -> Hub:
    return Hub(home, settings, registry)


def with_settings(home: Home, settings: Settings, **changes: object) -> Hub:
    return Hub(home, msgspec.structs.replace(settings, **changes), registry)


def every_page(hub: Hub, query: SearchQuery) -> list[list[ModelSummary]]:
    search, pages = hub.search(query), []
    while True:
        page = search.next_page()
        pages.append(list(page.models))
        if page.is_last:
            return pages


def test_pages_follow_one_another_without_gap_or_repeat(hub: Hub, hub_server: HubServer) -> None:
    for number in range(120):
        hub_server.add_model(f"acme/model-{number:03d}", files={"config.json": b"{}"}, downloads=number)
    pages = every_page(hub, SearchQuery())
    assert [len(page) for page in pages] == [50, 50, 20]
    names = [model.repository for page in pages for model in page]
    assert names == [f"acme/model-{number:03d}" for number in reversed(range(120))]
    assert any("cursor=" in request.query for request in hub_server.requests), "the server's pages were not followed"


def test_a_row_tells_what_the_list_shows(hub: Hub, hub_server: HubServer, llama: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(llama, tmp_path / "model")
    (folder / "README.md").write_bytes(CARD)
    hub_server.add_model("acme/Tiny", folder, downloads=7, likes=3, gated="auto")
    (row,) = every_page(hub, SearchQuery(text="tiny"))[0]
    assert (row.author, row.name, row.architecture) == ("acme", "Tiny", "LlamaForCausalLM")
    assert (row.downloads, row.likes, row.gating, row.licence) == (7, 3, "auto", "apache-2.0")
    assert row.parameters == 39072 and row.weight_bytes == 4 * 39072
    assert row.verdict.state == "trainable"


def test_the_query_narrows(hub: Hub, hub_server: HubServer, llama: Path) -> None:
    hub_server.add_model("acme/one", llama, likes=1)
    hub_server.add_model("acme/two", llama, likes=2, gated="manual")
    hub_server.add_model("other/one", files={"config.json": b"{}"})

    def found(query: SearchQuery) -> list[str]:
        return [model.repository for page in every_page(hub, query) for model in page]

    assert found(SearchQuery(author="acme", sort="likes")) == ["acme/two", "acme/one"]
    assert found(SearchQuery(gated=True)) == ["acme/two"]
    assert found(SearchQuery(text="one", tags=("conversational",))) == ["acme/one"]
    assert found(SearchQuery(maximum_parameters=1000)) == ["other/one"]
    assert found(SearchQuery(text="nothing-of-that-name")) == []


def test_cancelling_ends_the_search_before_its_next_request(hub: Hub, hub_server: HubServer) -> None:
    for number in range(30):
        hub_server.add_model(f"acme/model-{number}", files={"config.json": b"{}"})
    search = hub.search(SearchQuery())
    search.cancel()
    with pytest.raises(HubCancelled):
        search.next_page()
    assert hub_server.requests == []


def test_a_search_that_failed_can_be_asked_again(hub: Hub, hub_server: HubServer) -> None:
    for number in range(30):
        hub_server.add_model(f"acme/model-{number:02d}", files={"config.json": b"{}"}, downloads=number)
    hub_server.order("busy", "/api/models", status=429, headers={"Retry-After": "600"})
    search = hub.search(SearchQuery())
    begun = time.monotonic()
    with pytest.raises(SurroundingsError) as error:
        search.next_page()
    assert (error.value.code, error.value.arguments["retry_after"]) == ("hub_busy", "600")
    assert time.monotonic() - begun < 5, "a busy Hub kept a worker waiting"
    assert len(search.next_page().models) == 30


@pytest.mark.parametrize(
    ("status", "code"), [(200, "hub_bad_answer"), (503, "hub_server_error"), (403, "hub_forbidden")]
)
def test_answers_that_are_none_have_a_name(hub: Hub, hub_server: HubServer, status: int, code: str) -> None:
    hub_server.order("busy", "/api/models", status=status, times=9)
    with pytest.raises(SurroundingsError) as error:
        hub.search(SearchQuery()).next_page()
    assert error.value.code == code
    assert error.value.message


def test_the_facade_costs_no_import_of_the_hubs_client() -> None:
    code = (
        "import sys, studio.hub.client; print([m for m in ('huggingface_hub', 'httpx2', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.scenario("S20")
def test_offline_is_said_at_once_and_nothing_is_asked(home: Home, settings: Settings, hub_server: HubServer) -> None:
    hub = with_settings(home, settings, hub_offline=True)
    asked: list[Callable[[], object]] = [
        lambda: hub.search(SearchQuery()).next_page(),
        lambda: hub.details("acme/tiny"),
        lambda: hub.access("acme/tiny"),
    ]
    for ask in asked:
        with pytest.raises(SurroundingsError) as error:
            ask()
        assert error.value.code == "hub_offline"
    assert hub_server.requests == []


def test_a_hub_that_does_not_answer_is_no_hang(home: Home, settings: Settings) -> None:
    hub = with_settings(home, settings, hub_endpoint="http://127.0.0.1:9")
    begun = time.monotonic()
    with pytest.raises(SurroundingsError) as error:
        hub.search(SearchQuery()).next_page()
    assert error.value.code == "hub_unreachable"
    assert time.monotonic() - begun < 10


@pytest.mark.usefixtures("quick_failures")
def test_a_silent_hub_is_no_hang(hub: Hub, hub_server: HubServer) -> None:
    hub_server.add_model("acme/tiny", files={"config.json": b"{}" + b" " * 10})
    hub_server.order("stall", "config.json", at=3, times=5)
    begun = time.monotonic()
    with pytest.raises(SurroundingsError) as error:
        hub.details("acme/tiny")
    assert error.value.code == "hub_unreachable"
    assert time.monotonic() - begun < 10


def test_details_tell_files_commit_licence_card_and_config(
    hub: Hub, hub_server: HubServer, llama: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(llama, tmp_path / "model")
    (folder / "README.md").write_bytes(CARD)
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    repository = hub_server.add_model("acme/tiny", folder, downloads=5)
    details = hub.details("acme/tiny")
    assert (details.commit, details.revision) == (repository.commit, "main")
    assert (details.licence, details.access, details.gating) == ("apache-2.0", "open", "open")
    assert details.card is not None and "A tiny model." in details.card
    assert details.config is not None and details.config["hidden_size"] == 32
    assert details.verdict.state == "trainable"
    sizes = {file.name: file.size_bytes for file in details.files}
    assert sizes == {path.name: path.stat().st_size for path in folder.iterdir()}
    assert "pytorch_model.bin" not in {file.name for file in details.files if file.is_needed}
    assert details.download_bytes == sum(sizes.values()) - len(b"pickle")  # type: ignore[arg-type]  # the Hub tells sizes


def test_a_commit_is_asked_for_once(
    hub: Hub, home: Home, settings: Settings, hub_server: HubServer, llama: Path
) -> None:
    commit = hub_server.add_model("acme/tiny", llama).commit
    first = hub.details("acme/tiny", commit)
    asked = len(hub_server.requests)
    assert Hub(home, settings, registry).details("acme/tiny", commit) == first
    assert len(hub_server.requests) == asked


def test_offline_a_branch_is_told_as_last_seen(
    hub: Hub, home: Home, settings: Settings, hub_server: HubServer, llama: Path
) -> None:
    hub_server.add_model("acme/tiny", llama)
    seen = hub.details("acme/tiny")
    assert with_settings(home, settings, hub_offline=True).details("acme/tiny") == seen


@pytest.mark.scenario("S18")
def test_a_gated_model_says_where_to_ask_and_opens_once_accepted(
    hub: Hub, hub_server: HubServer, llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_server.add_model("acme/gated", llama, gated="manual")
    alice = hub_server.accounts["hf_alice"] = Account("alice")
    monkeypatch.setenv("HF_TOKEN", "hf_alice")
    details = hub.details("acme/gated")
    assert (details.access, details.gating, details.verdict.state) == ("ask", "manual", "unknown")
    assert details.problem is not None and details.problem.code == "hub_gated"
    assert details.problem.arguments["url"] == f"{hub_server.endpoint}/acme/gated"
    assert hub.access("acme/gated") == "ask"
    alice.accepted.add("acme/gated")
    assert hub.access("acme/gated") == "granted"
    assert hub.details("acme/gated").verdict.state == "trainable"


def test_what_the_hub_refuses_has_a_name(hub: Hub, hub_server: HubServer, llama: Path) -> None:
    hub_server.add_model("acme/tiny", llama)
    hub_server.add_model("acme/secret", llama, private=True)
    for name, revision, code in [
        ("acme/none", "main", "hub_not_found"),
        ("acme/secret", "main", "hub_not_found"),
        ("acme/tiny", "no-such", "hub_revision_not_found"),
        ("not a name", "main", "hub_bad_name"),
    ]:
        with pytest.raises(SurroundingsError) as error:
            hub.details(name, revision)
        assert error.value.code == code, name


def test_revisions_name_their_commits(hub: Hub, hub_server: HubServer, llama: Path) -> None:
    repository = hub_server.add_model("acme/tiny", llama)
    assert [(r.name, r.commit) for r in hub.revisions("acme/tiny")] == [("main", repository.commit)]
