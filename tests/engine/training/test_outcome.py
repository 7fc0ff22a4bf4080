from __future__ import annotations

import errno
from pathlib import Path

import pytest

from engine.protocol.errors import Bug, SurroundingsError
from engine.protocol.fields import FIELDS
from engine.protocol.recipe import ModelRef, resolve
from engine.training.memory import available_bytes, require_memory
from engine.training.model_folder import model_folder, open_weights
from engine.training.outcome import name_error
from engine.training.redaction import REPLACEMENT, redact
from engine.training.schedules import learning_rates
from tests.helpers.plans import small_recipe
from tests.helpers.tiny_models import write_tiny_llama


def test_every_error_gets_a_name() -> None:
    own = SurroundingsError("x", "y")
    assert name_error(own) is own
    assert name_error(MemoryError()).code == "out_of_memory"
    assert name_error(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")).code == "out_of_memory"
    assert name_error(OSError(errno.ENOSPC, "full", "/x")).code == "disk_full"
    assert name_error(PermissionError(errno.EACCES, "no", "/x")).code == "disk_not_writable"
    bug = name_error(KeyError("weight"))
    assert isinstance(bug, Bug)
    assert bug.code == "unexpected"


@pytest.mark.scenario("S35")
def test_secrets_are_cut_out_by_value_and_by_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "plain-looking-token")
    text = "plain-looking-token hf_" + "A1" * 12 + " http://me:pass@host/x Authorization: Bearer abcdefgh.ijk"
    clean = redact(text)
    assert clean.count(REPLACEMENT) == 4
    assert "pass" not in clean
    assert "abcdefgh" not in clean
    assert "http://" in clean


@pytest.mark.scenario("S23")
def test_more_memory_than_there_is_is_refused_before_anything_is_loaded() -> None:
    require_memory(1 << 20)
    with pytest.raises(SurroundingsError) as caught:
        require_memory(available_bytes() + (1 << 40))
    assert caught.value.code == "memory_too_small"
    assert isinstance(caught.value.arguments["free_bytes"], int)


def test_a_model_that_is_not_here_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (ModelRef(source="folder", path=str(tmp_path)), ModelRef(source="hub", repository="nobody/nothing")):
        with pytest.raises(SurroundingsError) as caught:
            model_folder(model)
        assert caught.value.code == "model_missing"


def test_an_index_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path / "model", shards=2)
    index = folder / "model.safetensors.index.json"
    secret = tmp_path / "outside.safetensors"
    (folder / "model-00001-of-00002.safetensors").rename(secret)
    index.write_text(index.read_text().replace("model-00001-of-00002", "../outside"))
    with pytest.raises(SurroundingsError) as caught:
        open_weights(folder)
    assert caught.value.code == "weights_missing"


@pytest.mark.scenario("S15")
@pytest.mark.parametrize("choice", [value for value, _ in FIELDS["schedule"].choices])
def test_every_schedule_that_can_be_chosen_gives_a_rate_for_every_step(tmp_path: Path, choice: str) -> None:
    recipe = resolve(small_recipe(tmp_path, schedule=choice))
    rates = learning_rates(recipe, total_steps=40, warmup_steps=2)
    assert all(0 < rates.at(step) <= recipe.learning_rate for step in range(1, 41))
