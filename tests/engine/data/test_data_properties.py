"""Whatever people write, in whatever file: it comes back as it was, and the mask covers the answers exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.data import json_rows
from engine.data.examples import RowUnusable
from engine.data.marking import Marker, tokens_of
from engine.data.reading import list_files, read_rows
from engine.data.rows import Row
from engine.data.tokenizer import TextTokenizer, load_tokenizer
from tests.helpers.datasets import turns
from tests.helpers.text_models import write_tokenizer

NASTY = [
    "",
    " ",
    "\n",
    "\r\n",
    "<|im_end|>",
    "<think>",
    "</think>",
    "\u2028",
    "é",
    "e\u0301",
    "🙂",
    "東京",
    '"',
    "\\",
    "{",
    "x",
    "\ue0f1",
    "\ue0f2",
]
texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=6), max_size=6).map("".join)
contents = st.lists(texts.filter(str.strip), min_size=2, max_size=7)
tables = st.lists(st.fixed_dictionaries({"prompt": texts, "completion": texts}), min_size=1, max_size=6)
quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TextTokenizer]:
    root = tmp_path_factory.mktemp("tokenizers")
    return {
        name: load_tokenizer(write_tokenizer(root / name, name)) for name in ("chatml", "generation", "qwen3", "llama3")
    }


def read(path: Path) -> list[object]:
    return [row.values if isinstance(row, Row) else row for row in read_rows(list_files(path))]


@quickly
@given(tables, st.sampled_from([None, 0, 3]), st.booleans())
def test_rows_come_back_from_every_kind_of_file(
    tmp_path: Path, rows: list[dict[str, str]], indent: int | None, ascii_only: bool
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.json", "a.jsonl", "a.parquet"):
        assert read(tmp_path / name) == rows


@quickly
@given(tables, st.integers(0, 2), st.integers(7, 64))
def test_arrays_are_the_same_however_they_are_chunked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, str]], indent: int, chunk: int
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=indent or None, ensure_ascii=False), encoding="utf-8")
    expected = list(read_rows(list_files(tmp_path / "a.json")))
    with monkeypatch.context() as patch:
        patch.setattr(json_rows, "CHUNK_CHARACTERS", chunk)
        assert list(read_rows(list_files(tmp_path / "a.json"))) == expected
    assert [row.values for row in expected if isinstance(row, Row)] == rows


def marked(tokenizer: TextTokenizer, messages: list[dict[str, object]]) -> tuple[list[str], list[int], list[int]]:
    marker = Marker("messages", {"messages": "messages"}, tokenizer, tokenizer.template("model"), "assistant")
    found = marker.mark(Row("x", 1, {"messages": messages}))
    ids, mask = tokens_of(found, tokenizer.encode(found.text))
    return [found.text[start:end] for start, end in found.spans], ids.tolist(), mask.tolist()


@quickly
@given(contents)
def test_prefixes_find_what_generation_blocks_mark(tokenizers: dict[str, TextTokenizer], words: list[str]) -> None:
    assert marked(tokenizers["chatml"], turns(*words)) == marked(tokenizers["generation"], turns(*words))


@quickly
@given(contents)
def test_stripping_templates_learn_the_stripped_answer(tokenizers: dict[str, TextTokenizer], words: list[str]) -> None:
    answers = [word.strip() + "<|eot_id|>" for word in words[1::2]]
    assert marked(tokenizers["llama3"], turns(*words))[0] == answers


@quickly
@given(contents)
def test_rewriting_templates_learn_what_they_keep_or_refuse(
    tokenizers: dict[str, TextTokenizer], words: list[str]
) -> None:
    messages = turns(*words)
    try:
        spans, _, _ = marked(tokenizers["qwen3"], messages)
    except RowUnusable as unusable:
        assert unusable.code == "mask_not_found" and any("think>" in word for word in words)
        return
    assert len(spans) == len(words) // 2
    for span, word in zip(spans, words[1::2], strict=True):
        kept = word.split("</think>")[-1].lstrip("\n") if "</think>" in word else word
        assert span.endswith(kept.lstrip("\n") + "<|im_end|>")
