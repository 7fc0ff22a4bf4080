"""The Data step over the real data worker: formats, rows, tokens, lengths, and what to know before training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from studio.recipes import DatasetRef, ModelRef
from tests.helpers.datasets import chat, write_lines
from tests.helpers.new_run import open_page, page_of, text_of
from tests.helpers.qt_walk import assert_walkable, find, too_small
from tests.helpers.tiny_models import write_tiny_llama
from ui.appearance import Appearance
from ui.shell.main_window import MainWindow
from ui.views.new_run.data_page import DataPage
from ui.widgets.badge import STATE_ROLE
from ui.widgets.combo import Combo
from ui.widgets.field import NumberField, TextField
from ui.widgets.length_histogram import LengthHistogram
from ui.widgets.segmented import SegmentedControl
from ui.widgets.table import DataTable
from ui.widgets.token_microscope import TokenMicroscope

PATIENCE = 60_000
LENGTH = 128
Open = Callable[[], tuple[MainWindow, DataPage]]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """130 chats: one broken, one without an answer, one ending in a user turn, one too long, two of them copies."""
    lines: list[object] = [chat(f"Question number {at}?", f"Answer number {at}.") for at in range(130)]
    lines[3] = '{"messages": [broken'
    lines[5] = chat("Hello?", "")
    lines[7] = chat("Where is it?", "Here.", "And now?")
    lines[9] = chat("Tell me all.", "word " * 400)
    lines[11] = lines[10]
    return write_lines(tmp_path / "helpdesk.jsonl", lines)


@pytest.fixture
def open_data_page(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[Open]:
    opened: list[MainWindow] = []

    def make() -> tuple[MainWindow, DataPage]:
        window = open_page(tmp_path, appearance, DataPage, hub_cache=str(tmp_path / "cache"))
        qtbot.addWidget(window)
        opened.append(window)
        window.navigate("new")
        page = page_of(window)
        assert isinstance(page, DataPage)
        return window, page

    yield make
    for window in opened:
        services = window.context.services
        window.close()
        services.close()


def wait(qtbot: QtBot, condition: Callable[[], bool]) -> None:
    qtbot.waitUntil(condition, timeout=PATIENCE)


def choose(window: MainWindow, llama: Path) -> None:
    """A model on this disk, at a length that cuts something."""
    model = ModelRef(source="folder", path=str(llama))
    window.context.services.document.edit({"model": model, "sequence_length": LENGTH})


def counted(qtbot: QtBot, page: DataPage) -> None:
    wait(qtbot, lambda: page.statistics is not None and page.inspection.rows_card.rows.rowCount() > 0)
    wait(qtbot, lambda: page.context.tasks.idle)


def cell(page: DataPage, row: int, column: int, role: int = Qt.ItemDataRole.DisplayRole) -> str:
    return str(page.inspection.rows_card.rows.index(row, column).data(role))


def click_row(page: DataPage, row: int) -> None:
    table = find(page, DataTable, "Rows of the dataset")
    where = table.visualRect(page.inspection.rows_card.rows.index(row, 1)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_a_file_is_picked_previewed_and_told(
    qtbot: QtBot, open_data_page: Open, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, page = open_data_page()
    assert "No data yet" in text_of(page) and not page.ready()
    assert_walkable(page)
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(rows)], ""))
    QTest.mouseClick(page.inspection._empty.findChildren(QPushButton)[0], Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: page.inspection.rows_card.rows.rowCount() > 0)
    assert window.context.services.document.recipe.datasets == (DatasetRef(str(rows)),)
    assert page.ready() and page.step_state() == ("done", "helpdesk")
    told = text_of(page)
    assert "Chat messages" in told and "rows match" in told and "1 row: The row cannot be read." in told
    assert cell(page, 0, 1) == "Question number 0?" and cell(page, 0, 3) == "–", "no tokens without a tokenizer"
    assert "its tokenizer counts" in told
    page.settings.sources.removed.emit(0)
    assert "No data yet" in text_of(page)


def test_files_are_dropped(qtbot: QtBot, open_data_page: Open, rows: Path) -> None:
    _, page = open_data_page()
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(rows))])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(400, 300), copy, mime, left, none)
    QApplication.sendEvent(page, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(page, QDropEvent(QPointF(400, 300), copy, mime, left, none))
    wait(qtbot, lambda: page.preview is not None and page.inspection.rows_card.rows.rowCount() > 0)


@pytest.mark.scenario("S14")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.txt", b"A paragraph.\n\nAnother one.\n"),
        ("list.json", b'[{"prompt": "a", "completion": "b"}, {"prompt": "c", "completion": "d"}]'),
        ("table.csv", b"prompt,completion\r\nhello,there\r\nwhat,this\r\n"),
        ("marked.jsonl", b'\xef\xbb\xbf{"prompt": "a", "completion": "b"}\r\n{"prompt": broken\r\n'),
    ],
)
def test_each_kind_of_file_shows_its_rows(
    qtbot: QtBot, open_data_page: Open, tmp_path: Path, name: str, content: bytes
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    _, page = open_data_page()
    page.add([str(file)])
    wait(qtbot, lambda: page.inspection.rows_card.rows.rowCount() > 0)
    assert page.preview is not None and page.preview.format
    if name == "marked.jsonl":
        wait(qtbot, lambda: "marked.jsonl, line 2" in text_of(page))
        assert cell(page, 1, 5) == "Left out" and cell(page, 1, 5, STATE_ROLE) == "bad"


@pytest.mark.scenario("S16")
def test_what_to_know_is_shown_with_counts_and_its_rows(
    qtbot: QtBot, open_data_page: Open, rows: Path, llama: Path
) -> None:
    window, page = open_data_page()
    page.add([str(rows)])
    choose(window, llama)
    counted(qtbot, page)
    told = text_of(page.settings.issues)
    for words in (
        "1 row: The row cannot be read.", "helpdesk.jsonl, line 4", "1 row: An assistant turn is empty.",
        "1 row: The conversation ends in a user turn", "1 row: The row is longer than the sequence length",
        "The row stands more than once.",
    ):  # fmt: skip
        assert words in told, words
    assert page.statistics is not None and page.step_state()[1] == "helpdesk · 130 rows"
    show = find(page, QPushButton, "Show rows: The row is longer than the sequence length and is cut.")
    show.setFocus()
    QTest.keyClick(show, Qt.Key.Key_Space)
    wait(qtbot, lambda: page.inspection.rows_card.rows.rowCount() == 1)
    assert cell(page, 0, 1) == "Tell me all." and cell(page, 0, 5, STATE_ROLE) == "warn"
    assert "filtered" in text_of(page.inspection.rows_card)
    QTest.mouseClick(find(page, QPushButton, "Show all rows"), Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: page.inspection.rows_card.rows.rowCount() > 40)


@pytest.mark.scenario("S17")
def test_a_row_in_training_and_evaluation_is_found(
    qtbot: QtBot, open_data_page: Open, rows: Path, llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = write_lines(
        tmp_path / "held.jsonl", [chat("Question number 20?", "Answer number 20."), chat("New?", "Yes.")]
    )
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(held)], ""))
    window, page = open_data_page()
    page.add([str(rows)])
    choose(window, llama)
    QTest.mouseClick(find(page, QPushButton, "Choose an evaluation dataset…"), Qt.MouseButton.LeftButton)
    assert window.context.services.document.recipe.evaluation_datasets == (DatasetRef(str(held)),)
    counted(qtbot, page)
    assert "1 row: The row stands in training and in evaluation." in text_of(page.settings.issues)
    assert page.statistics is not None and page.statistics.evaluation.rows == 2


def test_tokens_of_the_selected_row(qtbot: QtBot, open_data_page: Open, rows: Path, llama: Path) -> None:
    window, page = open_data_page()
    page.add([str(rows)])
    choose(window, llama)
    counted(qtbot, page)
    click_row(page, 9)
    wait(qtbot, lambda: "row 10" in text_of(page.inspection.microscope))
    microscope = find(page, TokenMicroscope, "Token microscope")
    wait(qtbot, lambda: len(microscope._tokens) > LENGTH)
    tokens = microscope._tokens
    assert len(tokens) > LENGTH and [token.cut for token in tokens].index(True) == LENGTH
    assert any(token.trained for token in tokens) and tokens[0].special
    assert "".join(token.text for token in tokens if token.trained).startswith("word word")
    mode = find(page, SegmentedControl, "Show")
    QTest.mouseClick(mode.button("ids"), Qt.MouseButton.LeftButton)
    assert microscope.boxes()[0].text.strip() == str(tokens[0].id)
    click_row(page, 3)
    wait(qtbot, lambda: "This row is left out" in text_of(page.inspection.microscope))


def test_the_line_of_the_histogram_is_the_sequence_length(
    qtbot: QtBot, open_data_page: Open, rows: Path, llama: Path
) -> None:
    window, page = open_data_page()
    page.add([str(rows)])
    choose(window, llama)
    counted(qtbot, page)
    document = window.context.services.document
    histogram = find(page, LengthHistogram, "Row length")
    assert histogram.limit == LENGTH and "Cut: 1 row" in histogram._cut_text
    exact = page.inspection.epoch.sequences.text
    assert page.statistics is not None and exact == str(page.statistics.training.blocks)
    start, end = (QPoint(round(histogram.x_of(x)), histogram.height() // 2) for x in (LENGTH, 640))
    QTest.mousePress(histogram, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(histogram, end)
    assert histogram.limit == 640 and page.inspection.epoch.sequences.text.startswith("≈")
    assert document.value("sequence_length") == LENGTH, "only letting go sets it"
    QTest.mouseRelease(histogram, Qt.MouseButton.LeftButton, pos=end)
    assert document.value("sequence_length") == 640
    wait(qtbot, lambda: page.statistics is not None and page.statistics.sequence_length == 640)
    field = find(page, NumberField, "Sequence length")
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "256")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert document.value("sequence_length") == 256 and histogram.limit == 256
    histogram.setFocus()
    QTest.keyClick(histogram, Qt.Key.Key_Left)
    assert document.value("sequence_length") == 192
    document.undo()
    assert histogram.limit == 256


def test_rows_are_searched_and_paged(qtbot: QtBot, open_data_page: Open, rows: Path) -> None:
    _, page = open_data_page()
    page.add([str(rows)])
    table_rows = page.inspection.rows_card.rows
    wait(qtbot, lambda: table_rows.rowCount() == 50)
    table = find(page, DataTable, "Rows of the dataset")
    table.scrollToBottom()
    wait(qtbot, lambda: table_rows.rowCount() >= 100)
    QTest.keyClicks(find(page, TextField, "Search rows"), "number 77")
    wait(qtbot, lambda: table_rows.rowCount() == 1)
    assert cell(page, 0, 0) == "78"


def test_format_and_columns_can_be_overridden(qtbot: QtBot, open_data_page: Open, tmp_path: Path) -> None:
    lines: list[object] = [{"prompt": f"p{at}", "completion": f"c{at}", "text": f"t{at}"} for at in range(8)]
    window, page = open_data_page()
    page.add([str(write_lines(tmp_path / "both.jsonl", lines))])
    wait(qtbot, lambda: page.inspection.rows_card.rows.rowCount() == 8)
    formats = find(page, Combo, "Format")
    formats.setFocus()
    formats.setCurrentIndex(formats.findData("text"))
    formats.activated.emit(formats.currentIndex())
    wait(qtbot, lambda: page.preview is not None and page.preview.format == "text" and cell(page, 0, 1) == "t0")
    column = find(page, Combo, "Column for Text")
    column.setCurrentIndex(column.findData("prompt"))
    column.activated.emit(column.currentIndex())
    wait(qtbot, lambda: cell(page, 0, 1) == "p0")
    (dataset,) = window.context.services.document.recipe.datasets
    assert (dataset.format, dataset.columns) == ("text", {"text": "prompt"})


def test_counting_shows_how_far_it_is_and_is_cancelled(
    qtbot: QtBot, open_data_page: Open, llama: Path, tmp_path: Path
) -> None:
    many: list[object] = [chat(f"Question {at}? " * 5, f"Answer {at}. " * 20) for at in range(20_000)]
    window, page = open_data_page()
    page.add([str(write_lines(tmp_path / "many.jsonl", many))])
    choose(window, llama)
    wait(qtbot, lambda: page.inspection.count_bar.isVisible() and " of 20,000" in text_of(page.inspection.count_bar))
    QTest.mouseClick(find(page, QPushButton, "Cancel counting"), Qt.MouseButton.LeftButton)
    assert "Counting was stopped" in text_of(page.inspection.count_bar)
    wait(qtbot, lambda: window.context.tasks.idle)
    assert page.statistics is None


def test_each_widget_has_a_name_and_is_reached(qtbot: QtBot, open_data_page: Open, rows: Path, llama: Path) -> None:
    window, page = open_data_page()
    page.add([str(rows)])
    choose(window, llama)
    counted(qtbot, page)
    wait(qtbot, lambda: not too_small(page))  # the list of issues is laid out with the next paint
    assert_walkable(page)
    told = text_of(page)
    assert "{" not in told.replace("{text}", "")
