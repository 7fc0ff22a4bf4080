"""Downloads as processes: they outlive us, are killed, paused and resumed, and keep no secret."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import psutil
import pytest
from huggingface_hub import try_to_load_from_cache

from engine.models import registry
from engine.protocol.errors import SurroundingsError
from engine.protocol.files import Disk, use_disk
from engine.protocol.recipe import ModelRef
from studio.environment import child_environment
from studio.home import Home
from studio.hub.client import Hub
from studio.hub.connection import Connection
from studio.hub.download import EXIT_DONE, Supervisor
from studio.hub.download_state import DownloadFolder, DownloadRequest
from studio.hub.downloads import Download, Downloads
from studio.settings import Settings
from tests.helpers.hub_content import Account, Repository
from tests.helpers.hub_limits import IMPATIENT
from tests.helpers.hub_server import HubServer

WEIGHTS = "model.safetensors"
STALL = 70_000
PATIENCE_SECONDS = 20.0


@pytest.fixture
def repository(hub_server: HubServer, llama: Path) -> Repository:
    return hub_server.add_model("acme/tiny", llama)


@pytest.fixture
def downloads(home: Home, settings: Settings) -> Iterator[Downloads]:
    service = open_downloads(home, settings)
    yield service
    service.close()


def open_downloads(home: Home, settings: Settings) -> Downloads:
    cache = Path(settings.hub_cache or "")
    return Downloads(
        home.downloads, cache, lambda: child_environment(os.environ, settings, home=home.root), limits=IMPATIENT
    )


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def finish(downloads: Downloads, identity: str) -> Download:
    wait_for(lambda: not downloads.get(identity).is_active, "the end of the download")
    return downloads.get(identity)


def part(settings: Settings, repository: Repository) -> Path:
    return Path(settings.hub_cache or "") / "models--acme--tiny" / "blobs" / f"{repository.files[WEIGHTS].etag}.part"


def stalled(hub_server: HubServer, downloads: Downloads, settings: Settings, repository: Repository) -> str:
    """Start a download that stands still after STALL bytes of the weights."""
    hub_server.order("stall", WEIGHTS, at=STALL, times=99)
    identity = downloads.start("acme/tiny")
    unfinished = part(settings, repository)
    wait_for(lambda: unfinished.exists() and unfinished.stat().st_size == STALL, "the stall")
    return identity


def process_of(home: Home, identity: str) -> psutil.Process:
    for process in psutil.process_iter(["cmdline"]):
        if str(home.downloads / identity / "request.json") in (process.info["cmdline"] or []):
            return process
    raise AssertionError("the downloader does not run")


def last_range(hub_server: HubServer) -> str | None:
    return hub_server.bodies(WEIGHTS)[-1].headers.get("range")


def assert_usable(home: Home, settings: Settings, repository: Repository) -> None:
    model = Hub(home, settings, registry).find(ModelRef(repository=repository.name))
    assert (model.commit, model.missing, model.verdict.state) == (repository.commit, (), "trainable")
    found = try_to_load_from_cache(repository.name, WEIGHTS, cache_dir=settings.hub_cache)
    assert isinstance(found, str) and Path(found).read_bytes() == repository.files[WEIGHTS].data


def test_a_download_ends_with_a_model_that_can_be_trained(
    downloads: Downloads, home: Home, settings: Settings, repository: Repository
) -> None:
    identity = downloads.start("acme/tiny")
    done = finish(downloads, identity)
    assert (done.state, done.problem, done.commit) == ("done", None, repository.commit)
    assert done.done_bytes == done.total_bytes > 0
    assert_usable(home, settings, repository)
    downloads.remove(identity)
    assert downloads.list() == ()
    assert_usable(home, settings, repository)


@pytest.mark.scenario("S19")
def test_killed_in_the_middle_it_resumes_at_the_byte_where_it_was(
    downloads: Downloads, home: Home, settings: Settings, repository: Repository, hub_server: HubServer
) -> None:
    identity = stalled(hub_server, downloads, settings, repository)
    process = process_of(home, identity)
    process.send_signal(signal.SIGKILL)
    wait_for(lambda: downloads.get(identity).state == "interrupted", "the kill to be noticed")
    assert try_to_load_from_cache("acme/tiny", WEIGHTS, cache_dir=settings.hub_cache) is None
    hub_server.faults.clear()
    downloads.resume(identity)
    assert finish(downloads, identity).state == "done"
    assert last_range(hub_server) == f"bytes={STALL}-"
    assert_usable(home, settings, repository)


@pytest.mark.scenario("S19")
@pytest.mark.parametrize("how", ["pause", "cancel"])
def test_stopped_it_stays_in_the_list_and_resumes_at_the_byte(
    downloads: Downloads, home: Home, settings: Settings, repository: Repository, hub_server: HubServer, how: str
) -> None:
    identity = stalled(hub_server, downloads, settings, repository)
    process = process_of(home, identity)
    begun = time.monotonic()
    getattr(downloads, how)(identity)
    stopped = finish(downloads, identity)
    assert time.monotonic() - begun < 8, "a silent server kept the stop waiting"
    assert stopped.state == {"pause": "paused", "cancel": "cancelled"}[how]
    assert stopped.done_bytes >= STALL and stopped.bytes_per_second == 0
    wait_for(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "the transfer to stop")
    assert [row.id for row in downloads.list()] == [identity]
    hub_server.faults.clear()
    assert downloads.start("acme/tiny") == identity, "asking again goes on with what was begun"
    assert finish(downloads, identity).state == "done"
    assert last_range(hub_server) == f"bytes={STALL}-"
    assert_usable(home, settings, repository)


@pytest.mark.scenario("S19")
def test_it_outlives_the_window_and_is_found_again(
    home: Home, settings: Settings, repository: Repository, hub_server: HubServer, downloads: Downloads
) -> None:
    identity = stalled(hub_server, downloads, settings, repository)
    downloads.close()
    reopened = open_downloads(home, settings)
    wait_for(lambda: reopened.get(identity).state == "loading", "the process to go on as if nothing had happened")
    assert reopened.start("acme/tiny") == identity, "asking again starts no second process"
    hub_server.faults.clear()
    reopened.cancel(identity)
    assert finish(reopened, identity).state == "cancelled"
    assert reopened.remove(identity) == STALL + len(f'"store-{repository.files[WEIGHTS].sha256[:12]}"')
    assert not part(settings, repository).exists()
    assert reopened.list() == ()


@pytest.mark.scenario("S19")
def test_without_a_network_it_says_so_and_what_is_on_disk_works(
    downloads: Downloads, home: Home, settings: Settings, repository: Repository
) -> None:
    finish(downloads, downloads.start("acme/tiny"))
    unreachable = Settings(hub_endpoint="http://127.0.0.1:9", hub_home=settings.hub_home, hub_cache=settings.hub_cache)
    offline = open_downloads(home, unreachable)
    failed = finish(offline, offline.start("acme/other"))
    assert failed.state == "failed"
    assert failed.problem is not None and failed.problem.code == "hub_unreachable"
    assert_usable(home, unreachable, repository)
    offline.close()


@pytest.mark.scenario("S18")
@pytest.mark.scenario("S35")
def test_a_gated_model_comes_with_a_token_of_the_command_line_and_the_token_is_nowhere(
    downloads: Downloads, home: Home, settings: Settings, hub_server: HubServer, llama: Path
) -> None:
    token = "hf_" + "commandlinelogin"
    repository = hub_server.add_model("acme/tiny", llama, gated="auto")
    stored = Path(settings.hub_home or "") / "token"  # where `hf auth login` puts it
    stored.parent.mkdir(parents=True)
    stored.write_text(token)
    refused = downloads.start("acme/tiny")
    assert finish(downloads, refused).state == "failed"
    problem = downloads.get(refused).problem
    assert problem is not None and problem.code == "hub_token_refused"
    alice = hub_server.accounts[token] = Account("alice")
    downloads.resume(refused)
    finish(downloads, refused)
    problem = downloads.get(refused).problem
    assert problem is not None and problem.code == "hub_gated"
    assert problem.arguments["url"] == f"{hub_server.endpoint}/acme/tiny"
    alice.accepted.add("acme/tiny")
    hub_server.order("cut", WEIGHTS, at=STALL)
    downloads.resume(refused)
    assert finish(downloads, refused).state == "done"
    assert_usable(home, settings, repository)
    written = {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()}
    assert len(written) >= 4
    for path, content in written.items():
        assert token.encode() not in content and b"Signature" not in content, path


@pytest.mark.scenario("S20")
def test_the_environment_is_honoured_where_settings_say_nothing(
    home: Home, hub_server: HubServer, llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = hub_server.add_model("acme/tiny", llama, private=True)
    hub_server.accounts["hf_env"] = Account("eve")
    for name, value in [
        ("HF_ENDPOINT", hub_server.endpoint),
        ("HF_TOKEN", "hf_env"),
        ("HF_HOME", str(tmp_path / "disk-a")),
        ("HF_HUB_CACHE", str(tmp_path / "disk-b")),
    ]:
        monkeypatch.setenv(name, value)
    service = Downloads(
        home.downloads,
        tmp_path / "disk-b",
        lambda: child_environment(os.environ, Settings(), home=home.root),
        limits=IMPATIENT,
    )
    assert finish(service, service.start("acme/tiny")).state == "done"
    found = try_to_load_from_cache("acme/tiny", WEIGHTS, cache_dir=tmp_path / "disk-b")
    assert isinstance(found, str) and repository.commit in found
    assert not (tmp_path / "disk-a" / "hub").exists(), "nothing of disk B is downloaded to disk A"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    asked = len(hub_server.requests)
    offline = finish(service, service.start("acme/other"))
    assert offline.problem is not None and offline.problem.code == "hub_offline"
    assert len(hub_server.requests) == asked
    service.close()


def test_a_command_of_an_earlier_attempt_does_not_stop_a_later_one(
    downloads: Downloads, home: Home, settings: Settings, repository: Repository, hub_server: HubServer
) -> None:
    identity = stalled(hub_server, downloads, settings, repository)
    downloads.pause(identity)
    finish(downloads, identity)
    assert (home.downloads / identity / "command.json").exists()
    hub_server.faults.clear()
    downloads.resume(identity)
    assert finish(downloads, identity).state == "done"


def test_the_transfer_goes_on_when_the_homes_own_disk_is_full(
    home: Home, settings: Settings, repository: Repository, hub_server: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    class FullHome(Disk):
        def write(self, file: IO[bytes], data: bytes | memoryview) -> None:
            if str(home.root) in file.name:
                raise OSError(errno.ENOSPC, "No space left on device")
            super().write(file, data)

    folder = DownloadFolder(home.downloads / "by-hand")
    folder.path.mkdir()
    folder.write_request(DownloadRequest("by-hand", "acme/tiny", "main", settings.hub_cache or "", "", IMPATIENT))
    connection = Connection(endpoint=hub_server.endpoint)
    with use_disk(FullHome()):
        assert Supervisor(folder, connection).run() == EXIT_DONE
    assert "progress could not be written" in capsys.readouterr().err
    assert_usable(home, settings, repository)


def test_names_and_ids_that_are_none_are_refused(downloads: Downloads) -> None:
    for name in ("", "a/b/c", "../../etc", "a b/c", "-x/y"):
        with pytest.raises(SurroundingsError) as error:
            downloads.start(name)
        assert error.value.code == "hub_bad_name"
    for identity in ("none", "..", "../x", ""):
        with pytest.raises(SurroundingsError) as error:
            downloads.resume(identity)
        assert error.value.code == "download_not_found"
