"""What stands on the form survives a kill of the window (scenario S1)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from engine.protocol.files import use_disk
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe
from studio.recipes.draft import Draft
from tests.helpers.faulty_disk import FaultyDisk

RECIPE = Recipe(model=ModelRef(source="folder", path="/m ü"), datasets=(DatasetRef("r.jsonl"),), lora_rank=7)


def test_a_draft_comes_back_as_it_was_left(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "draft.yaml")
    assert draft.load() == Recipe()
    draft.write()
    assert list(tmp_path.iterdir()) == []
    draft.remember(RECIPE)
    draft.write()
    assert Draft(tmp_path / "draft.yaml").load() == RECIPE


@pytest.mark.parametrize("content", [b"seed: [", b"\xff\xfe", b"version: 99", b"lern: 1"])
def test_a_draft_that_cannot_be_read_is_set_aside_whole(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "draft.yaml").write_bytes(content)
    assert Draft(tmp_path / "draft.yaml").load() == Recipe()
    assert (tmp_path / "draft.unreadable.yaml").read_bytes() == content


def test_the_newest_is_what_stands_in_the_end(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "draft.yaml")
    writers = []
    for rank in range(1, 9):
        draft.remember(Recipe(lora_rank=rank))
        writers.append(threading.Thread(target=draft.write))
    for writer in reversed(writers):
        writer.start()
    for writer in writers:
        writer.join()
    assert draft.load().lora_rank == 8


@pytest.mark.parametrize("fail_at", [1, 2, 3])
def test_a_full_disk_keeps_the_draft_before(tmp_path: Path, fail_at: int) -> None:
    draft = Draft(tmp_path / "draft.yaml")
    draft.remember(RECIPE)
    draft.write()
    draft.remember(Recipe(lora_rank=1))
    with use_disk(FaultyDisk(fail_at)), pytest.raises(OSError):
        draft.write()
    assert draft.load() == RECIPE
