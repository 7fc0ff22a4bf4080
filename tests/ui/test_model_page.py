"""The Model step over the real studio: a Hub on this machine, small models, the real downloader process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton, QTabBar
from pytestqt.qtbot import QtBot

import studio.hub.session as hub_session
from studio.recipes import ModelRef
from tests.helpers.hub_content import Account
from tests.helpers.hub_server import HubServer
from tests.helpers.new_run import hub_settings, open_page, page_of, text_of
from tests.helpers.qt_walk import assert_walkable, find
from tests.helpers.tiny_models import write_tiny_llama, write_tiny_qwen3
from ui.appearance import Appearance
from ui.shell.main_window import MainWindow
from ui.views.new_run.model_page import ModelPage
from ui.widgets.badge import STATE_ROLE
from ui.widgets.dialog import ConfirmDialog
from ui.widgets.field import TextField
from ui.widgets.markdown_card import MarkdownCard
from ui.widgets.table import DataTable

CARD = b"""---
license: apache-2.0
---
# Tiny Llama

A **small** model. ![logo](http://127.0.0.1:9/logo.png) <img src="http://127.0.0.1:9/pixel.png">
"""
WEIGHTS = "model.safetensors"
STALL = 40_000
PATIENCE = 15_000
Open = Callable[[], tuple[MainWindow, ModelPage]]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_qwen3(tmp_path_factory.mktemp("qwen"))


@pytest.fixture
def hub() -> Iterator[HubServer]:
    hub_session.install()
    with HubServer() as server:
        yield server
        close_session()


@pytest.fixture
def models(hub: HubServer, llama: Path, qwen: Path) -> HubServer:
    hub.add_model("acme/llama-small", llama, files={"README.md": CARD}, downloads=6000)
    hub.add_model("acme/qwen-small", qwen, downloads=5000)
    hub.add_model("acme/gated-llama", llama, gated="manual", downloads=4000)
    config = json.loads((llama / "config.json").read_text())
    strange = json.dumps({**config, "architectures": ["MambaForCausalLM"], "model_type": "mamba"}).encode()
    hub.add_model("acme/mamba", llama, files={"config.json": strange}, downloads=3000)
    pickled = {"config.json": json.dumps(config).encode(), "pytorch_model.bin": b"0" * 99, "tokenizer.json": b"{}",
               "tokenizer_config.json": b"{}"}  # fmt: skip
    hub.add_model("acme/pickled", files=pickled, downloads=2000)
    quantized = json.dumps({**config, "quantization_config": {"quant_method": "gptq"}}).encode()
    hub.add_model("acme/quantized", llama, files={"config.json": quantized}, downloads=1000)
    return hub


@pytest.fixture
def open_model_page(qtbot: QtBot, appearance: Appearance, tmp_path: Path, hub: HubServer) -> Iterator[Open]:
    opened: list[MainWindow] = []

    def make() -> tuple[MainWindow, ModelPage]:
        window = open_page(tmp_path, appearance, ModelPage, **hub_settings(tmp_path, hub))
        qtbot.addWidget(window)
        opened.append(window)
        window.navigate("new")
        page = page_of(window)
        assert isinstance(page, ModelPage)
        return window, page

    yield make
    for window in opened:
        services = window.context.services
        window.close()
        services.close()


def wait(qtbot: QtBot, condition: Callable[[], bool]) -> None:
    qtbot.waitUntil(condition, timeout=PATIENCE)


def select(qtbot: QtBot, page: ModelPage, repository: str) -> None:
    """Click the row of a model and wait for its details."""
    wait(qtbot, lambda: page.hub.rows.row_of(repository) is not None)
    row = page.hub.rows.row_of(repository)
    assert row is not None
    table = find(page, DataTable, "Models on the Hub")
    where = table.visualRect(page.hub.rows.index(row, 0)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    wait(qtbot, lambda: page.details.facts is not None and page.details.facts.reference.repository == repository)


def cell(page: ModelPage, repository: str, column: int, role: int = Qt.ItemDataRole.DisplayRole) -> str:
    row = page.hub.rows.row_of(repository)
    assert row is not None
    return str(page.hub.rows.index(row, column).data(role))


def test_search_as_you_type_and_the_latest_wins(qtbot: QtBot, models: HubServer, open_model_page: Open) -> None:
    _, page = open_model_page()
    wait(qtbot, lambda: page.hub.rows.rowCount() == 3)
    before = len(models.requests)
    QTest.keyClicks(find(page, TextField, "Search models"), "qwen")
    wait(qtbot, lambda: page.hub.rows.rowCount() == 1)
    assert cell(page, "acme/qwen-small", 0) == "qwen-small"
    asked = [r.query for r in models.requests[before:] if r.path == "/api/models"]
    assert len(asked) == 1 and "search=qwen" in asked[0], "one search, not one a letter"
    field = find(page, TextField, "Search models")
    field.selectAll()
    QTest.keyClicks(field, "nothing like it")
    wait(qtbot, lambda: "No model matches" in text_of(page))
    find(page, QPushButton, "Clear search and filters").click()
    wait(qtbot, lambda: page.hub.rows.rowCount() == 6)


def test_a_model_is_told_and_chosen_by_key(qtbot: QtBot, models: HubServer, open_model_page: Open) -> None:
    window, page = open_model_page()
    wait(qtbot, lambda: page.hub.rows.rowCount() == 3)
    table = find(page, DataTable, "Models on the Hub")
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_Down)
    QTest.keyClick(table, Qt.Key.Key_Up)
    wait(qtbot, lambda: page.details.facts is not None)
    told = text_of(page.details)
    for words in (
        "llama-small",
        "LlamaForCausalLM",
        "Architecture supported",
        "apache-2.0",
        "320 tokens",
        "Full",
        "Fits",
    ):
        assert words in told, words
    assert cell(page, "acme/llama-small", 6) == "Fits · Full", "the row learns from the details"
    assert not page.ready()
    QTest.keyClick(table, Qt.Key.Key_Return)
    document = window.context.services.document
    assert document.recipe.model == ModelRef(repository="acme/llama-small", revision="main")
    assert page.ready() and "Chosen for this run" in text_of(page.details) + page.details._used.text()
    wait(qtbot, lambda: page.step_state()[1] == "llama-small · not on disk")
    document.undo()
    assert document.recipe.model is None and find(page, QPushButton, "Use this model").isVisible()


def test_the_card_loads_nothing_from_outside(qtbot: QtBot, models: HubServer, open_model_page: Open) -> None:
    _, page = open_model_page()
    select(qtbot, page, "acme/llama-small")
    card = find(page.details, MarkdownCard, "Model card")
    shown = card.toPlainText()
    assert "Tiny Llama" in shown and "small model" in shown and "license:" not in shown and "<img" not in shown
    assert "http://127.0.0.1:9" not in card.document().toHtml()
    assert card.loadResource(2, "http://127.0.0.1:9/logo.png") is None


@pytest.mark.scenario("S22")
def test_what_cannot_be_trained_says_why_in_its_row(qtbot: QtBot, models: HubServer, open_model_page: Open) -> None:
    _, page = open_model_page()
    wait(qtbot, lambda: page.hub.rows.rowCount() == 3)
    find(page, QPushButton, "Architecture supported").click()
    wait(qtbot, lambda: page.hub.rows.rowCount() == 6)
    for name, short, why in (
        ("mamba", "architecture", "MambaForCausalLM is not supported"), ("pickled", "pickles only", "Python pickles"),
        ("quantized", "quantised", "gptq"),
    ):  # fmt: skip
        assert cell(page, f"acme/{name}", 6) == f"Not trainable · {short}"
        assert cell(page, f"acme/{name}", 6, STATE_ROLE) == "bad"
        assert why in cell(page, f"acme/{name}", 6, Qt.ItemDataRole.ToolTipRole)
        assert why in cell(page, f"acme/{name}", 0, Qt.ItemDataRole.AccessibleTextRole)
    select(qtbot, page, "acme/mamba")
    told = text_of(page.details)
    assert "This model cannot be trained" in told and "MambaForCausalLM is not supported" in told
    assert "Use this model" not in told and "Download" not in told.splitlines()
    page.hub.table.setFocus()
    QTest.keyClick(page.hub.table, Qt.Key.Key_Return)
    assert not page.ready(), "Enter does not choose what cannot be trained"


@pytest.mark.scenario("S18")
def test_a_gated_model_says_so_links_and_looks_again(
    qtbot: QtBot, models: HubServer, open_model_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.accounts["hf_secret"] = Account("somebody")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    visited: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: visited.append(url.toString()))
    _, page = open_model_page()
    select(qtbot, page, "acme/gated-llama")
    told = text_of(page.details)
    assert "acme/gated-llama is gated" in told and cell(page, "acme/gated-llama", 5) == "Ask for access"
    assert "Use this model" not in told and "Download" not in told.splitlines()
    QTest.mouseClick(find(page.details, QPushButton, "Ask for access"), Qt.MouseButton.LeftButton)
    assert visited == [f"{models.endpoint}/acme/gated-llama"]
    models.accounts["hf_secret"].accepted.add("acme/gated-llama")
    QTest.mouseClick(find(page.details, QPushButton, "Check again"), Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: page.details.facts is not None and not page.details.facts.needs_access)
    assert cell(page, "acme/gated-llama", 5) == "Access granted"
    assert find(page.details, QPushButton, "Download").isEnabled()


@pytest.mark.scenario("S19")
def test_a_stopped_download_keeps_its_row_and_goes_on_at_the_byte(
    qtbot: QtBot, models: HubServer, open_model_page: Open
) -> None:
    models.order("stall", WEIGHTS, at=STALL, times=99)
    window, page = open_model_page()
    select(qtbot, page, "acme/llama-small")
    card = page.details.download_card
    QTest.mouseClick(find(card, QPushButton, "Download"), Qt.MouseButton.LeftButton)
    part = models.repositories["acme/llama-small"].files[WEIGHTS].etag + ".part"
    blobs = Path(window.context.services.settings.load().hub_cache or "") / "models--acme--llama-small" / "blobs"
    wait(qtbot, lambda: (blobs / part).exists() and (blobs / part).stat().st_size == STALL)
    wait(qtbot, lambda: "Downloading" in text_of(card))
    assert page.ready(), "downloading chooses the model; its data may be looked at meanwhile"
    wait(qtbot, lambda: page.step_state()[1].startswith("llama-small · downloading"))
    QTest.mouseClick(find(card, QPushButton, "Cancel"), Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: "Cancelled" in text_of(card))
    assert "are kept" in text_of(card) and page.hub.rows.row_of("acme/llama-small") is not None
    models.faults.clear()
    resume = find(card, QPushButton, "Resume")
    resume.setFocus()
    QTest.keyClick(resume, Qt.Key.Key_Space)
    wait(qtbot, lambda: page.step_state()[1] == "llama-small · on disk")
    assert models.bodies(WEIGHTS)[-1].headers["range"] == f"bytes={STALL}-"
    wait(qtbot, lambda: "On this disk" in text_of(card) and page.disk.rows.rowCount() == 1)
    wait(qtbot, lambda: not page.downloads.any_active)


def test_offline_leads_to_the_disk(
    qtbot: QtBot, hub: HubServer, open_model_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_session, "CONNECT_SECONDS", 1.0)
    hub.endpoint = "http://127.0.0.1:9"  # nobody listens there
    _, page = open_model_page()
    wait(qtbot, lambda: "The Hub cannot be reached" in text_of(page))
    assert_walkable(page)
    QTest.mouseClick(find(page, QPushButton, "Models on this disk"), Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: "No models on this disk yet" in text_of(page))


def test_a_folder_is_added_judged_and_deleted(
    qtbot: QtBot, models: HubServer, open_model_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tiny_llama(tmp_path / "mine" / "my-llama")
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    window, page = open_model_page()
    tabs = find(page, QTabBar, "Where models are")
    tabs.setFocus()
    QTest.keyClick(tabs, Qt.Key.Key_Right)
    wait(qtbot, lambda: "No models on this disk yet" in text_of(page))
    QTest.mouseClick(find(page, QPushButton, "Add a folder of models…"), Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: page.disk.rows.rowCount() == 1)
    rows = page.disk.rows
    wait(qtbot, lambda: rows.index(0, 4).data() == "Fits · Full")
    table = find(page, DataTable, "Models on this disk")
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_Down)
    wait(qtbot, lambda: page.details.facts is not None)
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert window.context.services.document.recipe.model == ModelRef(source="folder", path=str(folder))
    wait(qtbot, lambda: page.step_state() == ("done", "my-llama · on disk"))
    wait(qtbot, lambda: window.context.tasks.idle)
    assert table.currentIndex().row() == 0, "looking at the disk again keeps the selection"
    QTest.mouseClick(find(page, QPushButton, "Delete files…"), Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: page.disk.dialog is not None)
    dialog = page.disk.dialog
    assert isinstance(dialog, ConfirmDialog) and "This frees" in text_of(dialog)
    QTest.keyClick(dialog, Qt.Key.Key_Return)  # Enter takes the safe answer
    assert not dialog.isVisible()
    assert folder.is_dir()
    QTest.mouseClick(find(page, QPushButton, "Delete files…"), Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: page.disk.dialog is not dialog)
    dialog = page.disk.dialog
    assert dialog is not None
    QTest.mouseClick(dialog.buttons["delete"], Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: rows.rowCount() == 0)
    assert not folder.exists()


def test_each_widget_has_a_name_and_is_reached(qtbot: QtBot, models: HubServer, open_model_page: Open) -> None:
    window, page = open_model_page()
    select(qtbot, page, "acme/llama-small")
    wait(qtbot, lambda: window.context.tasks.idle)
    assert_walkable(page)
    assert not [label for label in page.findChildren(QLabel) if label.isVisible() and "{" in label.text()]
