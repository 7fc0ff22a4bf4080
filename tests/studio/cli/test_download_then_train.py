"""A model on a Hub of this machine: found, fetched, planned with its commit pinned, and trained on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from huggingface_hub import close_session

import studio.hub.session as hub_session
from studio.cli.exit_codes import ExitCode
from studio.settings import SettingsFile
from tests.helpers.hub_server import HubServer
from tests.studio.cli.conftest import Desk


@pytest.fixture
def hub(desk: Desk) -> Iterator[HubServer]:
    hub_session.install()
    with HubServer() as server:
        server.add_model("acme/tiny", desk.root / "model")
        desk.run("runs")  # makes the home
        SettingsFile(desk.home / "settings.json").change(
            hub_endpoint=server.endpoint, hub_home=str(desk.root / "hf"), hub_cache=str(desk.root / "disk b" / "cache")
        )
        yield server
        close_session()


@pytest.mark.scenario("S20")
def test_download_plan_and_train(desk: Desk, hub: HubServer) -> None:
    found: Any = desk.json("models", "tiny")  # Any: JSON
    assert [model["repository"] for model in found["models"]] == ["acme/tiny"]
    code, _, err = desk.run("train", desk.recipe, "--set", "model=acme/tiny")
    assert code == ExitCode.REFUSED
    assert "anneal download acme/tiny" in err
    code, out, err = desk.run("download", "acme/tiny")
    assert code == ExitCode.DONE, err
    assert "is on this disk" in out
    local: Any = desk.json("models")  # Any: JSON
    commit = local["models"][0]["commit"]
    assert local["models"][0]["path"].startswith(str(desk.root / "disk b"))
    desk.options(steps=2, environment=1)
    launched: Any = desk.json("train", desk.recipe, "--set", "model=acme/tiny")  # Any: JSON
    assert f'"revision":"{commit}"' in launched["recipe"]
    environment = (desk.home / "runs" / launched["id"] / "environment.json").read_text()
    assert str(desk.root / "disk b") in environment
    assert hub.endpoint in environment


def test_a_model_that_the_hub_does_not_have_is_told(desk: Desk, hub: HubServer) -> None:
    code, _, err = desk.run("download", "acme/none")
    assert code == ExitCode.SURROUNDINGS
    assert "acme/none" in err
