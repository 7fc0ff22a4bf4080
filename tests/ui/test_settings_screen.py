"""Settings as a person uses them: each control changes what is in force, and is still so in the next window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

import studio.hub.session as hub_session
from studio.environment import child_environment
from studio.home import open_home
from studio.settings import SettingsFile
from tests.helpers.hub_content import Account
from tests.helpers.hub_server import HubServer
from tests.helpers.qt_walk import assert_walkable, find, name_of
from tests.helpers.studio_window import Bench, bench_over
from ui.appearance import Appearance
from ui.shell.main_window import MainWindow
from ui.views.settings.view import SettingsView
from ui.widgets.text import Text
from ui.widgets.toggle import Toggle

TOKEN = "hf_" + "goodtokenofalice"


@pytest.fixture
def bench(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[Bench]:
    with bench_over(qtbot, appearance, tmp_path / "home") as made:
        yield made
    appearance.choose("dark")
    appearance.set_scale(1.0)
    appearance.set_patterns(True)
    appearance.set_reduce_motion(False)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubServer]:
    hub_session.install()
    with HubServer() as server:
        server.accounts[TOKEN] = Account("alice", role="write")
        file = SettingsFile(open_home(tmp_path / "home").settings)
        file.change(hub_endpoint=server.endpoint, hub_home=str(tmp_path / "hf"), hub_cache=str(tmp_path / "cache"))
        yield server
        close_session()


def saved(bench: Bench) -> dict[str, object]:
    path = bench.root / "settings.json"
    content: dict[str, object] = json.loads(path.read_text()) if path.exists() else {}
    return content


def settled(bench: Bench, window: MainWindow) -> SettingsView:
    bench.until(lambda: window.context.tasks.idle)
    view = window.pages.current_view()
    assert isinstance(view, SettingsView)
    return view


def says(root: QWidget, text: str) -> bool:
    return any(text in label.text() for label in root.findChildren(Text) if label.isVisible())


def test_theme_and_text_size_change_at_once_and_are_kept(bench: Bench, appearance: Appearance) -> None:
    window = bench.window("settings", page="appearance")
    view = settled(bench, window)
    QTest.mouseClick(find(view, QToolButton, "Theme: Light"), Qt.MouseButton.LeftButton)
    assert appearance.theme.name == "light"
    QTest.mouseClick(find(view, QToolButton, "Text size: 125 %"), Qt.MouseButton.LeftButton)
    assert appearance.theme.scale == 1.25
    QTest.mouseClick(find(view, Toggle, "Patterns in bars"), Qt.MouseButton.LeftButton)
    motion = find(view, Toggle, "Reduce motion")
    motion.setFocus()
    QTest.keyClick(motion, Qt.Key.Key_Space)
    assert not appearance.theme.patterns and appearance.theme.reduce_motion
    expected = {"theme": "light", "text_size": 125, "patterns_in_bars": False, "reduce_motion": True}
    bench.until(lambda: expected.items() <= saved(bench).items())


def test_the_theme_key_shows_in_the_page(bench: Bench, appearance: Appearance) -> None:
    window = bench.window("settings", page="appearance")
    view = settled(bench, window)
    appearance.toggle()
    assert find(view, QToolButton, "Theme: Light").isChecked()


@pytest.mark.scenario("S35")
def test_signing_in_by_hand_checking_and_out(bench: Bench, hub: HubServer, tmp_path: Path) -> None:
    window = bench.window("settings", page="account")
    view = settled(bench, window)
    bench.until(lambda: says(view, "Not signed in"))
    field = find(view, QLineEdit, "Token")
    assert field.echoMode() == QLineEdit.EchoMode.Password
    field.setFocus()
    QTest.keyClicks(field, "hf_wrongone")
    QTest.keyClick(field, Qt.Key.Key_Return)
    bench.until(lambda: find(view, QPushButton, "Check").isEnabled())
    assert field.text() == "" and not says(view, "Signed in as")
    QTest.keyClicks(field, TOKEN)
    QTest.mouseClick(find(view, QPushButton, "Sign in"), Qt.MouseButton.LeftButton)
    bench.until(lambda: says(view, "Signed in as alice") and says(view, "read and write"))
    assert field.text() == ""
    bench.until(lambda: window.context.tasks.idle)
    holding = {path.name for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()}
    assert holding == {"token", "stored_tokens"}, "only where huggingface_hub keeps it"
    QTest.mouseClick(find(view, QPushButton, "Sign out"), Qt.MouseButton.LeftButton)
    bench.until(lambda: says(view, "Not signed in"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


@pytest.mark.scenario("S20")
def test_overrides_reach_the_next_child(bench: Bench, hub: HubServer, tmp_path: Path) -> None:
    window = bench.window("settings", page="storage")
    view = settled(bench, window)
    field = find(view, QLineEdit, "Hugging Face home")
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, str(tmp_path / "other disk"))
    QTest.keyClick(field, Qt.Key.Key_Return)
    bench.until(lambda: saved(bench).get("hub_home") == str(tmp_path / "other disk"))
    services = window.context.services
    child = child_environment({}, services.settings.load(), home=services.home.root)
    assert child["HF_HOME"] == str(tmp_path / "other disk")
    window.navigate("settings", page="account")
    bench.until(lambda: window.context.tasks.idle)
    address = find(view, QLineEdit, "Address of the Hub")
    assert address.text() == hub.endpoint
    address.setFocus()
    address.clear()
    QTest.mouseClick(find(view, Toggle, "Offline"), Qt.MouseButton.LeftButton)
    bench.until(lambda: saved(bench).get("hub_offline") is True)
    bench.until(lambda: window.context.tasks.idle)
    assert child_environment({}, services.settings.load(), home=services.home.root)["HF_HUB_OFFLINE"] == "1"


def test_folders_with_models_come_and_go(
    bench: Bench, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "my models"
    models.mkdir()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *arguments: str(models))
    window = bench.window("settings", page="storage")
    view = settled(bench, window)
    bench.until(lambda: says(view, "Runs and checkpoints"))
    QTest.mouseClick(find(view, QPushButton, "Add a folder"), Qt.MouseButton.LeftButton)
    bench.until(lambda: saved(bench).get("model_folders") == [str(models)])
    name = f"Remove {models} from the list"
    bench.until(lambda: name in [name_of(button) for button in view.findChildren(QPushButton) if button.isVisible()])
    remove = find(view, QPushButton, name)
    remove.setFocus()
    QTest.keyClick(remove, Qt.Key.Key_Space)
    bench.until(lambda: saved(bench).get("model_folders") == [])
    assert models.is_dir(), "only the list forgets it"


def test_about_promises_and_says_versions(bench: Bench) -> None:
    window = bench.window("settings", page="about")
    view = settled(bench, window)
    assert says(view, "The app sends nothing anywhere.") and says(view, "Apache License 2.0")
    find(view, QPushButton, "Copy versions").click()
    assert "torch" in QApplication.clipboard().text()


def test_every_page_can_be_walked_and_reached_by_keys(bench: Bench, hub: HubServer) -> None:
    window = bench.window("settings", page="appearance")
    view = settled(bench, window)
    for page in ("appearance", "account", "storage", "shortcuts", "about"):
        window.navigate("settings", page=page)
        bench.until(lambda: window.context.tasks.idle)
        assert_walkable(view)
    about = find(view, QPushButton, "About")
    about.setFocus()
    QTest.keyClick(about, Qt.Key.Key_Up)
    assert view.crumbs()[1] == "Shortcuts"
    find(view, QPushButton, "Doctor").click()
    assert window.pages.route == "doctor"
