"""Models on this disk: the Hub's cache as the real client writes it, and folders that the user chose."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from huggingface_hub import snapshot_download

from engine.models import registry
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import ModelRef
from studio.home import Home
from studio.hub.client import Hub
from studio.hub.records import LocalModel
from studio.settings import Settings
from tests.helpers.hub_server import HubServer
from tests.helpers.tiny_models import write_tiny_qwen3


@pytest.fixture
def hub(home: Home, settings: Settings) -> Hub:
    return Hub(home, settings, registry)


@pytest.fixture
def cached(hub_server: HubServer, settings: Settings, llama: Path) -> str:
    """A model that the ecosystem itself has downloaded; returns its commit."""
    commit = hub_server.add_model("acme/tiny", llama).commit
    snapshot_download("acme/tiny", cache_dir=settings.hub_cache, endpoint=hub_server.endpoint)
    return commit


def only(hub: Hub) -> LocalModel:
    (model,) = hub.local().models
    return model


def test_an_empty_disk_is_no_error(hub: Hub) -> None:
    assert hub.local().models == ()


def test_what_the_ecosystem_downloaded_is_found(hub: Hub, cached: str, llama: Path) -> None:
    model = only(hub)
    assert (model.repository, model.commit, model.revisions) == ("acme/tiny", cached, ("main",))
    assert (model.origin, model.is_complete, model.verdict.state) == ("cache", True, "trainable")
    assert model.size_bytes == sum(path.stat().st_size for path in llama.iterdir())
    assert model.config is not None and model.config["model_type"] == "llama"
    assert model.last_used_utc is not None
    for revision in ("", "main", cached):
        assert hub.find(ModelRef(repository="acme/tiny", revision=revision)).path == model.path


@pytest.mark.scenario("S22")
def test_an_incomplete_model_is_marked_with_what_it_lacks(hub: Hub, cached: str, hub_server: HubServer) -> None:
    model = only(hub)
    (Path(model.path) / "model.safetensors").unlink()
    incomplete = only(hub)
    assert not incomplete.is_complete and incomplete.missing == ("model.safetensors",)
    assert incomplete.verdict.state == "refused"
    assert [p.arguments["file"] for p in incomplete.verdict.problems] == ["model.safetensors"]
    with pytest.raises(SurroundingsError) as error:
        hub.find(ModelRef(repository="acme/tiny"))
    assert error.value.code == "model_incomplete" and error.value.arguments["files"] == "model.safetensors"


@pytest.mark.scenario("S22")
def test_shards_that_the_index_promises_are_missed(home: Home, settings: Settings, tmp_path: Path) -> None:
    folder = write_tiny_qwen3(tmp_path / "models" / "qwen", shards=3)
    (folder / "model-00003-of-00003.safetensors").unlink()
    hub = Hub(home, msgspec.structs.replace(settings, model_folders=(str(tmp_path / "models"),)), registry)
    model = only(hub)
    assert model.missing == ("model-00003-of-00003.safetensors",)
    assert [p.code for p in model.verdict.problems] == ["model_file_missing"]


def test_chosen_folders_are_searched_one_level_deep(
    home: Home, settings: Settings, tmp_path: Path, llama: Path
) -> None:
    write_tiny_qwen3(tmp_path / "models" / "qwen")
    (tmp_path / "models" / "notes").mkdir()
    folders = (str(tmp_path / "models"), str(llama), str(tmp_path / "gone"))
    hub = Hub(home, msgspec.structs.replace(settings, model_folders=folders), registry)
    assert {(model.origin, model.label, model.verdict.state) for model in hub.local().models} == {
        ("folder", "qwen", "trainable"),
        ("folder", llama.name, "trainable"),
    }
    assert hub.find(ModelRef(source="folder", path=str(llama))).path == str(llama)


def test_a_model_that_is_not_there_is_an_error(hub: Hub, cached: str, tmp_path: Path) -> None:
    for reference in (
        ModelRef(repository="acme/other"),
        ModelRef(repository="acme/tiny", revision="v2"),
        ModelRef(source="folder", path=str(tmp_path / "none")),
    ):
        with pytest.raises(SurroundingsError) as error:
            hub.find(reference)
        assert error.value.code == "model_not_on_disk"


def test_a_damaged_entry_is_named_and_the_rest_is_listed(hub: Hub, cached: str, settings: Settings) -> None:
    damaged = Path(settings.hub_cache or "") / "models--acme--broken" / "snapshots" / ("a" * 40)
    damaged.mkdir(parents=True)
    (damaged / "config.json").symlink_to("../../blobs/nothing")
    scan = hub.local()
    assert [model.repository for model in scan.models] == ["acme/tiny"]
    assert [problem.code for problem in scan.problems] == ["cache_entry_damaged"]
    assert "broken" in scan.problems[0].message


def test_deleting_frees_what_it_said(hub: Hub, cached: str, llama: Path) -> None:
    model = only(hub)
    planned = hub.deletion(model)
    assert planned.freed_bytes == sum(path.stat().st_size for path in llama.iterdir())
    assert planned.paths
    assert hub.delete(model) == planned.freed_bytes
    assert hub.local().models == ()


def test_content_that_another_commit_needs_stays(
    hub: Hub, cached: str, hub_server: HubServer, settings: Settings, llama: Path
) -> None:
    hub_server.add_model("acme/tiny", llama, files={"LICENSE": b"free"})
    snapshot_download("acme/tiny", cache_dir=settings.hub_cache, endpoint=hub_server.endpoint)
    older = next(model for model in hub.local().models if model.commit == cached)
    assert hub.delete(older) == 0
    left = only(hub)
    assert left.verdict.state == "trainable" and (Path(left.path) / "model.safetensors").is_file()


def test_from_a_chosen_folder_only_the_models_files_go(
    home: Home, settings: Settings, tmp_path: Path, llama: Path
) -> None:
    folder = shutil.copytree(llama, tmp_path / "models" / "mine")
    mine = ["README.md", "adapter.safetensors", "notes.txt", "rows.json", "thesis.docx"]
    for name in mine:
        (folder / name).write_bytes(b"not yours")
    hub = Hub(home, msgspec.structs.replace(settings, model_folders=(str(folder),)), registry)
    freed = hub.delete(only(hub))
    assert freed == sum(path.stat().st_size for path in llama.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == mine
