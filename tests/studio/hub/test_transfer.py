"""The bytes of a download, under everything that networks and disks do to them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from huggingface_hub import scan_cache_dir, try_to_load_from_cache

from engine.protocol.errors import SurroundingsError
from engine.protocol.files import use_disk
from studio.hub.board import Board
from studio.hub.cache_layout import RepositoryCache
from studio.hub.connection import Connection
from studio.hub.download_state import DownloadProgress, DownloadRequest, TransferLimits
from studio.hub.fetch import RepositoryFetch
from studio.hub.transfer import Stopped, retry_after
from tests.helpers.faulty_disk import FaultyDisk
from tests.helpers.hub_content import Account, Repository
from tests.helpers.hub_limits import IMPATIENT
from tests.helpers.hub_server import HubServer

WEIGHTS = "model.safetensors"
CUT = 60_000


@pytest.fixture
def repository(hub_server: HubServer, llama: Path) -> Repository:
    return hub_server.add_model("acme/tiny", llama)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


class Killed(BaseException):
    """The process is gone: nothing that catches errors may catch this."""


def die() -> None:
    raise Killed


Fetch = Callable[..., Board]


@pytest.fixture
def fetch(hub_server: HubServer, cache: Path) -> Fetch:
    """Run one attempt in this process; returns the board."""

    def run(name: str = "acme/tiny", limits: TransferLimits = IMPATIENT, commit: str = "") -> Board:
        request = DownloadRequest("id", name, "main", str(cache), "", limits)
        board = Board(DownloadProgress())
        RepositoryFetch(request, commit, board, Connection(endpoint=hub_server.endpoint)).run()
        return board

    return run


def part(cache: Path, repository: Repository, name: str = WEIGHTS) -> Path:
    return cache / "models--acme--tiny" / "blobs" / f"{repository.files[name].etag}.part"


def assert_whole(cache: Path, repository: Repository) -> None:
    """Every needed file is where the ecosystem looks for it, nothing else is left."""
    for name, file in repository.files.items():
        found = try_to_load_from_cache(repository.name, name, cache_dir=cache, revision="main")
        assert isinstance(found, str) and Path(found).read_bytes() == file.data, name
    info = scan_cache_dir(cache)
    assert info.warnings == []
    (cached,) = info.repos
    (revision,) = cached.revisions
    assert (cached.repo_id, revision.commit_hash, set(revision.refs)) == (repository.name, repository.commit, {"main"})
    blobs = {path.name for path in (cache / "models--acme--tiny" / "blobs").iterdir()}
    assert blobs == {file.etag for file in repository.files.values()}


def ranges(hub_server: HubServer) -> list[str | None]:
    return [request.headers.get("range") for request in hub_server.bodies(WEIGHTS)]


def test_everything_arrives_where_the_ecosystem_finds_it(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    progress = fetch().snapshot()
    assert_whole(cache, repository)
    assert {file.state for file in progress.files} == {"verified"}
    assert progress.done_bytes == progress.total_bytes == sum(len(file.data) for file in repository.files.values())
    assert progress.commit == repository.commit
    asked = len(hub_server.bodies(WEIGHTS))
    assert {file.state for file in fetch().snapshot().files} == {"on_disk"}
    assert len(hub_server.bodies(WEIGHTS)) == asked == 1


def test_only_what_training_needs_is_fetched(fetch: Fetch, hub_server: HubServer, llama: Path) -> None:
    extra = {"pytorch_model.bin": b"p", "model.Q4.gguf": b"g", "onnx/model.onnx": b"o", "original/params.json": b"{}"}
    hub_server.add_model("acme/tiny", llama, files={**extra, "LICENSE": b"free"})
    names = {file.name for file in fetch().snapshot().files}
    assert not names & set(extra)
    assert {"LICENSE", WEIGHTS, "tokenizer.json", "config.json"} <= names


@pytest.mark.scenario("S19")
def test_a_cut_goes_on_at_the_byte_where_it_was(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    hub_server.order("cut", WEIGHTS, at=CUT)
    hub_server.order("cut", WEIGHTS, at=CUT + 7)
    fetch()
    assert ranges(hub_server) == [None, f"bytes={CUT}-", f"bytes={CUT + 7}-"]
    assert hub_server.bodies(WEIGHTS)[1].headers["if-range"].startswith('"store-')
    assert_whole(cache, repository)


def test_a_small_file_is_resumed_too(fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer) -> None:
    hub_server.order("cut", "config.json", at=100)
    fetch()
    asked = [request.headers.get("range") for request in hub_server.bodies("config.json")]
    assert asked == [None, "bytes=100-"]
    assert_whole(cache, repository)


def test_what_came_before_a_failure_stays_and_is_used(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    hub_server.order("cut", WEIGHTS, at=CUT, times=IMPATIENT.attempts)
    with pytest.raises(SurroundingsError) as error:
        fetch()
    assert error.value.code in ("hub_unreachable", "download_cut")
    assert part(cache, repository).stat().st_size == CUT
    assert try_to_load_from_cache("acme/tiny", WEIGHTS, cache_dir=cache) is None
    fetch()
    assert ranges(hub_server)[-1] == f"bytes={CUT}-"
    assert_whole(cache, repository)


def test_a_silent_server_is_left_and_asked_again(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    hub_server.order("stall", WEIGHTS, at=CUT)
    fetch(limits=msgspec.structs.replace(IMPATIENT, silence_seconds=0.3))
    assert ranges(hub_server) == [None, f"bytes={CUT}-"]
    assert_whole(cache, repository)


def test_a_trickle_is_left_and_asked_again(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    hub_server.order("trickle", WEIGHTS, at=CUT, bytes_per_second=200)
    fetch(limits=msgspec.structs.replace(IMPATIENT, stall_seconds=0.4, stall_bytes_per_second=10**6))
    first, second = ranges(hub_server)
    assert first is None and second is not None
    assert int(second.removeprefix("bytes=").removesuffix("-")) > CUT, "what trickled in was thrown away"
    assert_whole(cache, repository)


def test_a_busy_server_is_given_the_time_that_it_asks_for(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    wait = Board.waits

    def note(seconds: float) -> bool:
        waits.append(seconds)
        return False

    def remembering(board: Board, notice: object) -> None:
        wait(board, notice)  # type: ignore[arg-type]  # handed through as it came
        if notice is not None:
            monkeypatch.setattr(board.stopping, "wait", note)

    monkeypatch.setattr(Board, "waits", remembering)
    hub_server.order("busy", WEIGHTS, status=429, headers={"Retry-After": "17"}, times=2)
    hub_server.order("busy", "/api/models/acme/tiny", status=429, headers={"Retry-After": "3"})
    fetch()
    assert waits == [3.0, 17.0, 17.0]
    assert_whole(cache, repository)


def test_retry_after_may_be_seconds_or_a_date() -> None:
    assert retry_after("12") == 12.0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert retry_after("soon") is None and retry_after(None) is None


def test_a_range_past_the_end_starts_the_file_again(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    unfinished = part(cache, repository)
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(b"x" * (len(repository.files[WEIGHTS].data) - 1))
    hub_server.order("busy", WEIGHTS, status=416, times=1)
    # The HEAD for the metadata would spend the order; only a GET at the store shall.
    hub_server.faults[-1].file = f"/{repository.files[WEIGHTS].sha256}/"
    fetch()
    assert ranges(hub_server)[-1] is None
    assert_whole(cache, repository)


def test_a_complete_part_is_only_verified(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    finished = part(cache, repository)
    finished.parent.mkdir(parents=True)
    finished.write_bytes(repository.files[WEIGHTS].data)
    fetch()
    assert hub_server.bodies(WEIGHTS) == []
    assert_whole(cache, repository)


@pytest.mark.parametrize("fault", ["ignore_range", "new_validator"])
def test_a_server_that_sends_all_again_does_not_spoil_the_file(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer, fault: str
) -> None:
    hub_server.order("cut", WEIGHTS, at=CUT, times=IMPATIENT.attempts)
    with pytest.raises(SurroundingsError):
        fetch()
    hub_server.order(fault, WEIGHTS)
    fetch()
    assert_whole(cache, repository)


def test_a_damaged_file_is_fetched_again(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    hub_server.order("corrupt", WEIGHTS, at=1234)
    hub_server.order("corrupt", "config.json", at=12)
    fetch()
    assert ranges(hub_server) == [None, None]
    assert_whole(cache, repository)


def test_a_file_that_stays_damaged_never_gets_a_final_name(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    hub_server.order("corrupt", WEIGHTS, at=1234, times=9)
    with pytest.raises(SurroundingsError) as error:
        fetch()
    assert error.value.code == "checksum_mismatch"
    assert not part(cache, repository).with_suffix("").exists()
    assert try_to_load_from_cache("acme/tiny", WEIGHTS, cache_dir=cache) is None


def test_a_signed_address_that_ran_out_is_replaced(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer
) -> None:
    hub_server.order("busy", f"/{repository.files[WEIGHTS].sha256}/", status=403)
    fetch()
    assert_whole(cache, repository)


def test_the_token_goes_to_the_hub_and_to_nobody_else(
    fetch: Fetch, hub_server: HubServer, llama: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = hub_server.add_model("acme/tiny", llama, gated="auto")
    hub_server.accounts["hf_alice"] = Account("alice", {"acme/tiny"})
    monkeypatch.setenv("HF_TOKEN", "hf_alice")
    fetch()
    assert_whole(cache, repository)
    at_store = [request for request in hub_server.requests if request.server == "store"]
    assert at_store and not any("authorization" in request.headers for request in at_store)
    at_hub = [request for request in hub_server.requests if request.server == "hub"]
    assert all(request.headers.get("authorization") == "Bearer hf_alice" for request in at_hub)


@pytest.mark.scenario("S18")
@pytest.mark.parametrize("token", ["", "hf_alice"])
def test_a_licence_that_was_not_accepted_is_said_with_the_page(
    fetch: Fetch, hub_server: HubServer, llama: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    hub_server.add_model("acme/tiny", llama, gated="manual")
    hub_server.accounts["hf_alice"] = Account("alice")
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(SurroundingsError) as error:
        fetch()
    assert error.value.code == "hub_gated"
    assert error.value.arguments["url"] == f"{hub_server.endpoint}/acme/tiny"
    assert str(error.value.arguments["url"]) in error.value.remedy


def test_a_full_disk_is_named_and_nothing_half_has_a_final_name(
    fetch: Fetch, repository: Repository, cache: Path
) -> None:
    unfinished = part(cache, repository)
    unfinished.parent.mkdir(parents=True)
    unfinished.symlink_to("/dev/full")  # every write to it fails as on a full disk
    with pytest.raises(SurroundingsError) as error:
        fetch()
    assert error.value.code == "disk_full"
    assert error.value.arguments["path"] == str(cache)
    assert not unfinished.with_suffix("").exists()
    assert try_to_load_from_cache("acme/tiny", WEIGHTS, cache_dir=cache) is None
    unfinished.unlink()
    fetch()
    assert_whole(cache, repository)


def test_too_little_room_is_said_before_anything_is_fetched(
    fetch: Fetch, repository: Repository, hub_server: HubServer
) -> None:
    with pytest.raises(SurroundingsError) as error:
        fetch(limits=msgspec.structs.replace(IMPATIENT, disk_reserve_bytes=2**62))
    assert error.value.code == "disk_full"
    assert error.value.arguments["needed_bytes"] == sum(len(file.data) for file in repository.files.values())
    assert hub_server.bodies(WEIGHTS) == []


def test_the_same_content_in_a_new_commit_is_not_fetched_again(
    fetch: Fetch, repository: Repository, cache: Path, hub_server: HubServer, llama: Path
) -> None:
    fetch()
    newer = hub_server.add_model("acme/tiny", llama, files={"LICENSE": b"free"})
    assert newer.commit != repository.commit
    fetch()
    assert len(hub_server.bodies(WEIGHTS)) == 1
    found = try_to_load_from_cache("acme/tiny", WEIGHTS, cache_dir=cache, revision="main")
    assert isinstance(found, str) and newer.commit in found


def test_a_resumed_download_stays_at_its_commit(fetch: Fetch, repository: Repository, hub_server: HubServer) -> None:
    with pytest.raises(SurroundingsError) as error:
        fetch(commit="f" * 40)
    assert error.value.code == "hub_revision_not_found"
    assert fetch(commit=repository.commit).snapshot().commit == repository.commit


def test_killed_at_any_write_sync_or_rename_the_next_attempt_makes_it_whole(
    fetch: Fetch, hub_server: HubServer, llama: Path, tmp_path: Path, cache: Path
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    for name in ("config.json", "tokenizer.json", WEIGHTS):
        shutil.copy(llama / name, small)
    repository = hub_server.add_model("acme/tiny", small)
    for moment in range(1, 200):
        shutil.rmtree(cache, ignore_errors=True)
        try:
            with use_disk(FaultyDisk(moment, die)):
                fetch()
            break
        except Killed:
            pass
        scan = scan_cache_dir(cache)
        assert [str(w) for w in scan.warnings if "Snapshots dir" not in str(w)] == []
        for name, file in repository.files.items():
            found = try_to_load_from_cache("acme/tiny", name, cache_dir=cache, revision=repository.commit)
            assert found is None or Path(str(found)).read_bytes() == file.data, "half a file has a final name"
        fetch()
        shutil.rmtree(cache / ".locks")
        for left in RepositoryCache(cache, "acme/tiny").leftovers():
            left.unlink()
        assert_whole(cache, repository)
    assert moment > 3 * len(repository.files), "the disk was hardly used"


@pytest.mark.parametrize("name", ["..\\evil.json", "../additional_chat_templates/evil.jinja", "C:evil.json"])
def test_names_that_leave_the_cache_are_refused(
    fetch: Fetch, hub_server: HubServer, llama: Path, tmp_path: Path, name: str
) -> None:
    hub_server.add_model("acme/tiny", llama, files={name: b"x"})
    with pytest.raises(SurroundingsError) as error:
        fetch()
    assert error.value.code == "hub_bad_file_name"
    assert not list(tmp_path.rglob("*evil*"))


def test_stopping_ends_it_between_two_bytes(hub_server: HubServer, repository: Repository, cache: Path) -> None:
    board = Board(DownloadProgress())
    board.stopping.set()
    request = DownloadRequest("id", "acme/tiny", "main", str(cache), "", IMPATIENT)
    with pytest.raises(Stopped):
        RepositoryFetch(request, "", board, Connection(endpoint=hub_server.endpoint)).run()


def test_links_are_copies_where_links_do_not_work(
    fetch: Fetch, repository: Repository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.are_symlinks_supported", lambda _: False)
    fetch()
    pointer = cache / "models--acme--tiny" / "snapshots" / repository.commit / WEIGHTS
    assert not pointer.is_symlink()
    assert hashlib.sha256(pointer.read_bytes()).hexdigest() == repository.files[WEIGHTS].sha256
