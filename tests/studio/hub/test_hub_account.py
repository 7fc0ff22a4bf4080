"""The account: the token lives where `huggingface_hub` keeps it, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.models import registry
from engine.protocol.errors import SurroundingsError
from studio.home import Home
from studio.hub.client import Hub
from studio.hub.secrets import origin, redact, safe_address
from studio.settings import Settings
from tests.helpers.hub_content import Account
from tests.helpers.hub_server import HubServer

TOKEN = "hf_" + "goodtokenofalice"


@pytest.fixture
def hub(home: Home, settings: Settings, hub_server: HubServer) -> Hub:
    hub_server.accounts[TOKEN] = Account("alice", role="write")
    return Hub(home, settings, registry)


@pytest.mark.scenario("S35")
def test_signing_in_checking_and_out(hub: Hub, home: Home, settings: Settings, tmp_path: Path) -> None:
    assert not hub.account.check().signed_in
    state = hub.account.sign_in(f"  {TOKEN}\n")
    assert (state.signed_in, state.name, state.role, state.source) == (True, "alice", "write", "stored")
    keeping = {path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()}
    assert keeping == {Path(settings.hub_home or "") / name for name in ("token", "stored_tokens")}
    assert Hub(home, settings, registry).account.check().name == "alice"
    assert not hub.account.sign_out().signed_in
    assert not hub.account.check().signed_in
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def test_a_bad_token_is_refused_and_not_kept(hub: Hub, tmp_path: Path) -> None:
    for token in ("hf_" + "unknown", "", "   "):
        with pytest.raises(SurroundingsError) as error:
            hub.account.sign_in(token)
        assert error.value.code == "hub_token_refused"
        assert "unknown" not in str(error.value)
    assert not (tmp_path / "hf" / "token").exists()


def test_a_token_that_was_revoked_is_a_state_with_a_reason(hub: Hub, hub_server: HubServer) -> None:
    hub.account.sign_in(TOKEN)
    hub_server.accounts.clear()
    state = hub.account.check()
    assert not state.signed_in and state.problem is not None and state.problem.code == "hub_token_refused"


def test_other_stored_tokens_survive_signing_out(hub: Hub, hub_server: HubServer, tmp_path: Path) -> None:
    other = "hf_" + "othertokenofbob"
    hub_server.accounts[other] = Account("bob")
    hub.account.sign_in(other)
    hub.account.sign_in(TOKEN)
    assert not hub.account.sign_out().signed_in
    assert other in (tmp_path / "hf" / "stored_tokens").read_text()


@pytest.mark.scenario("S20")
def test_the_environments_token_goes_first_and_says_so(
    hub: Hub, hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_server.accounts["hf_env"] = Account("eve")
    monkeypatch.setenv("HF_TOKEN", "hf_env")
    state = hub.account.sign_in(TOKEN)
    assert (state.name, state.source) == ("eve", "environment")
    left = hub.account.sign_out()
    assert (left.signed_in, left.source) == (True, "environment")


@pytest.mark.scenario("S35")
def test_messages_are_cleaned() -> None:
    dirty = f"GET https://user:pw@hub/x?X-Amz-Signature=abc with Bearer {TOKEN} and sesame"
    assert redact(dirty, "sesame") == "GET https://[secret]@hub/x?[secret] with [secret] and [secret]"
    assert safe_address("https://user:pw@hub.example:8443/a/b?sig=1#x") == "https://hub.example:8443/a/b"
    assert origin("https://HUB.example/a") == origin("https://hub.example:443/b")
    assert origin("https://hub.example") != origin("http://hub.example")
