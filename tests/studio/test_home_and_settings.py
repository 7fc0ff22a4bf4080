"""Where things are kept, what is set, and what a child process gets to see."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.protocol.errors import SurroundingsError
from studio.environment import child_environment, module_command
from studio.home import Home, find_home, open_home
from studio.settings import Settings, SettingsFile


def test_the_option_wins_over_the_environment_and_that_over_the_default(tmp_path: Path) -> None:
    assert find_home(tmp_path / "a", {"ANNEAL_HOME": str(tmp_path / "b")}) == tmp_path / "a"
    assert find_home(None, {"ANNEAL_HOME": str(tmp_path / "b")}) == tmp_path / "b"
    assert find_home(None, {}).name == "anneal-studio"


def test_a_home_is_created_once_and_knows_its_version(tmp_path: Path) -> None:
    home = open_home(tmp_path / "new home")
    assert json.loads(home.marker.read_text()) == {"version": 1}
    assert home.runs.is_dir()
    assert home.tokens_cache.is_dir()
    assert open_home(home.root) == home
    home.marker.write_text('{"version": 99}')
    with pytest.raises(SurroundingsError, match="newer") as newer:
        open_home(home.root)
    assert newer.value.code == "home.newer"
    home.marker.write_text("tea")
    with pytest.raises(SurroundingsError) as unreadable:
        open_home(home.root)
    assert unreadable.value.code == "home.unreadable"


def test_a_home_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SurroundingsError) as caught:
        open_home(tmp_path / "file" / "home")
    assert caught.value.code == "home.unwritable"


@pytest.mark.parametrize("bad", ["../elsewhere", "a/b", "", ".", ".."])
def test_a_run_id_is_never_a_path(bad: str, tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError):
        Home(tmp_path).run(bad)


def test_settings_are_kept_with_what_a_newer_release_wrote(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    assert file.load() == Settings()
    (tmp_path / "settings.json").write_text('{"theme": "dark", "from_the_future": [1, 2]}')
    assert file.change(text_size=125).theme == "dark"
    assert json.loads((tmp_path / "settings.json").read_text())["from_the_future"] == [1, 2]
    assert file.load().text_size == 125
    with pytest.raises(SurroundingsError) as caught:
        file.change(text_size=111)
    assert caught.value.code == "settings.bad_value"
    assert file.load().text_size == 125


def test_two_settings_changed_at_once_are_both_kept(tmp_path: Path) -> None:
    for turn in range(20):
        file = SettingsFile(tmp_path / f"{turn}.json")
        with ThreadPoolExecutor(2) as threads:
            threads.submit(file.change, hub_offline=True)
            threads.submit(file.change, hub_home="/elsewhere")
        kept = file.load()
        assert (kept.hub_offline, kept.hub_home) == (True, "/elsewhere")


@pytest.mark.scenario("S20")
def test_hub_variables_are_inherited_and_settings_win(tmp_path: Path) -> None:
    inherited = {
        "HF_HOME": "/inherited", "HF_ENDPOINT": "http://inherited", "HF_TOKEN": "t", "HF_HUB_OFFLINE": "1",
        "PATH": "/bin", "https_proxy": "http://proxy", "CUDA_VISIBLE_DEVICES": "0",
    }  # fmt: skip
    plain = child_environment(inherited, Settings(), home=tmp_path)
    assert {name: plain[name] for name in inherited} == inherited
    settings = Settings(hub_cache="/disk-b/hub", hub_endpoint="http://mirror")
    chosen = child_environment(inherited, settings, home=tmp_path)
    assert (chosen["HF_HUB_CACHE"], chosen["HF_ENDPOINT"]) == ("/disk-b/hub", "http://mirror")
    assert chosen["HF_HOME"] == "/inherited"


@pytest.mark.scenario("S35")
def test_a_child_gets_no_keys_of_other_services(tmp_path: Path) -> None:
    inherited = {"AWS_SECRET_ACCESS_KEY": "s", "WANDB_API_KEY": "s", "GITHUB_TOKEN": "s", "SSH_AUTH_SOCK": "s"}
    assert not set(inherited) & set(child_environment(inherited, Settings(), home=tmp_path))


def test_a_child_does_not_import_from_its_working_folder() -> None:
    assert "-P" in module_command("engine", "train")
