"""Every kind of file, in every state in which people have them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.data.reading import SECTION_CHARACTERS, first_rows, list_files, read_rows
from engine.data.rows import AnyRow, BadRow, Row
from engine.protocol.errors import SurroundingsError
from tests.helpers.datasets import chat, write_lines

ROWS = [chat("Hi", "Hello"), chat("Grüße 🙂", "Ça va"), chat("Two\nlines", 'and "quotes", too')]


def read(path: Path) -> list[AnyRow]:
    return list(read_rows(list_files(path)))


def good(rows: list[AnyRow]) -> list[dict[str, object]]:
    return [row.values for row in rows if isinstance(row, Row)]


def bad(rows: list[AnyRow]) -> list[tuple[str, int]]:
    return [(row.file, row.line) for row in rows if isinstance(row, BadRow)]


def lines(rows: list[AnyRow]) -> list[int]:
    return [row.line for row in rows]


def csv_of(rows: list[dict[str, str]]) -> str:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    head = ",".join(rows[0])
    return "\n".join([head, *(",".join(quoted(cell) for cell in row.values()) for row in rows)]) + "\n"


TABLE = [{"prompt": "Hi", "completion": "Hello"}, {"prompt": "Two\nlines", "completion": 'a "word", Grüße'}]


@pytest.mark.scenario("S14")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_of_json_in_every_encoding_and_line_end(tmp_path: Path, encoding: str, line_end: str) -> None:
    text = line_end.join(json.dumps(row, ensure_ascii=False) for row in ROWS) + line_end
    (tmp_path / "rows.jsonl").write_bytes(text.encode(encoding))
    rows = read(tmp_path / "rows.jsonl")
    assert good(rows) == ROWS and lines(rows) == [1, 2, 3]


@pytest.mark.scenario("S14")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_in_every_encoding_and_separator(tmp_path: Path, encoding: str, separator: str) -> None:
    text = csv_of(TABLE).replace('","', f'"{separator}"').replace("prompt,", f"prompt{separator}")
    (tmp_path / "rows.csv").write_bytes(text.replace("\n", "\r\n").encode(encoding))
    rows = read(tmp_path / "rows.csv")
    assert [row["prompt"] for row in good(rows)] == ["Hi", "Two\r\nlines"]
    assert good(rows)[1]["completion"] == 'a "word", Grüße'
    assert lines(rows) == [2, 3]


@pytest.mark.scenario("S14")
@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array(tmp_path: Path, indent: int | None) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(ROWS, indent=indent), encoding="utf-8-sig")
    assert good(read(tmp_path / "rows.json")) == ROWS


@pytest.mark.scenario("S14")
def test_a_json_object_of_columns_or_of_rows_and_lines_under_the_wrong_name(tmp_path: Path) -> None:
    columns = {key: [row[key] for row in TABLE] for key in TABLE[0]}
    shapes = {
        "columns": json.dumps(columns),
        "rows": json.dumps({"version": 1, "data": TABLE}),
        "one": json.dumps(ROWS[0]),
    }
    for name, text in shapes.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    write_lines(tmp_path / "lines.json", ROWS)
    assert good(read(tmp_path / "columns.json")) == TABLE
    assert good(read(tmp_path / "rows.json")) == TABLE
    assert good(read(tmp_path / "one.json")) == [ROWS[0]]
    assert good(read(tmp_path / "lines.json")) == ROWS


@pytest.mark.scenario("S14")
def test_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    assert good(read(tmp_path / "rows.parquet")) == ROWS


@pytest.mark.scenario("S14")
def test_text_in_sections_that_lose_nothing(tmp_path: Path) -> None:
    paragraph = "One line.\r\nAnother line.\r\n\r\n"
    text = paragraph * (3 * SECTION_CHARACTERS // len(paragraph))
    (tmp_path / "book.txt").write_bytes(text.encode())
    rows = read(tmp_path / "book.txt")
    assert len(rows) > 2
    assert "".join(str(values["text"]) for values in good(rows)) == text.replace("\r\n", "\n").rstrip("\n")
    assert [row.continues for row in rows if isinstance(row, Row)] == [True] * (len(rows) - 1) + [False]
    assert max(len(str(values["text"])) for values in good(rows)) < 2 * SECTION_CHARACTERS


@pytest.mark.scenario("S14")
def test_a_folder_of_everything(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", ROWS)
    (tmp_path / "b.csv").write_text(csv_of(TABLE), encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.txt").write_text("A text.", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.jsonl").write_text("{", encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(TABLE), tmp_path / "d.parquet")
    listing = list_files(tmp_path)
    assert [listing.name(file) for file in listing.files] == ["a.jsonl", "b.csv", "d.parquet", "deep/c.txt"]
    assert listing.skipped == ("picture.png",)
    assert len(good(read(tmp_path))) == 8
    rows, complete = first_rows(listing, 4)
    assert {row.file for row in rows} == {"a.jsonl", "b.csv", "d.parquet", "deep/c.txt"} and not complete
    assert first_rows(listing, 200)[1]


@pytest.mark.scenario("S14")
@pytest.mark.parametrize(
    "broken", ['{"messages": [', "not json", '["a", "list"]', '{"a": 1} {"b": 2}', "\udcff\udcfe", "[" * 100_000]
)
def test_a_broken_line_is_named_and_the_rest_is_usable(tmp_path: Path, broken: str) -> None:
    first, second, third = (json.dumps(row).encode() for row in ROWS)
    raw = b"\n".join([first, broken.encode("utf-8", "surrogateescape"), b"", second, third])
    (tmp_path / "rows.jsonl").write_bytes(raw)
    rows = read(tmp_path / "rows.jsonl")
    assert good(rows) == ROWS
    assert bad(rows) == [("rows.jsonl", 2)]
    assert lines(rows) == [1, 2, 4, 5]


@pytest.mark.scenario("S14")
@pytest.mark.parametrize("indent", [None, 1])
def test_a_broken_element_of_an_array_costs_that_element_only(tmp_path: Path, indent: int | None) -> None:
    elements = [json.dumps(chat(f"question {number}", f"answer {number}"), indent=indent) for number in range(5)]
    elements[2] = elements[2].replace('"answer 2"', '"answer 2')
    text = "[\n" + ",\n".join(elements) + "\n]\n"
    (tmp_path / "rows.json").write_text(text, encoding="utf-8")
    rows = read(tmp_path / "rows.json")
    assert [values["messages"][0]["content"] for values in good(rows)] == [  # type: ignore[index]  # rows of chat()
        f"question {number}" for number in (0, 1, 3, 4)
    ]
    assert len(bad(rows)) == 1
    broken_line = bad(rows)[0][1]
    assert "answer 2" in text.splitlines()[broken_line - 1]


@pytest.mark.scenario("S14")
def test_a_cut_array_keeps_what_is_whole(tmp_path: Path) -> None:
    text = json.dumps(ROWS)
    (tmp_path / "rows.json").write_text(text[:-20], encoding="utf-8")
    rows = read(tmp_path / "rows.json")
    assert good(rows) == ROWS[:2] and len(bad(rows)) >= 1


@pytest.mark.scenario("S14")
def test_a_broken_csv_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("prompt,completion\na,b\nonly one\nc,d\n", encoding="utf-8")
    rows = read(tmp_path / "rows.csv")
    assert good(rows) == [{"prompt": "a", "completion": "b"}, {"prompt": "c", "completion": "d"}]
    assert bad(rows) == [("rows.csv", 3)]


@pytest.mark.scenario("S14")
def test_broken_and_empty_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nonsense")
    (tmp_path / "b.json").write_text("", encoding="utf-8")
    (tmp_path / "c.json").write_text("{]", encoding="utf-8")
    write_lines(tmp_path / "d.jsonl", ROWS)
    rows = read(tmp_path)
    assert good(rows) == ROWS
    assert bad(rows) == [("a.parquet", 1), ("c.json", 1)]


def test_windows_text_is_read_as_such(tmp_path: Path) -> None:
    raw = json.dumps({"text": "Grüße — ça va"}, ensure_ascii=False).encode("cp1252")
    (tmp_path / "rows.jsonl").write_bytes(raw)
    assert good(read(tmp_path / "rows.jsonl")) == [{"text": "Grüße — ça va"}]


def test_large_arrays_are_streamed(tmp_path: Path) -> None:
    rows = [chat(f"question {number}", "x" * 3_000) for number in range(1_500)]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    read_back = read(path)
    assert good(read_back) == rows
    text = path.read_text(encoding="utf-8").splitlines()
    for row in read_back[::300]:
        assert text[row.line - 1].strip() == "{"


def test_what_cannot_be_read_at_all_says_so(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    for path, code in (
        (tmp_path / "gone.jsonl", "dataset_missing"),
        (tmp_path / "picture.png", "dataset_kind_unknown"),
        (tmp_path, "dataset_empty"),
    ):
        with pytest.raises(SurroundingsError) as caught:
            list_files(path)
        assert caught.value.code == code and caught.value.remedy
