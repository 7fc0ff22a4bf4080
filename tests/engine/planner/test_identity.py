from __future__ import annotations

from pathlib import Path

import pytest

from engine.planner.identity import model_hash
from engine.protocol.errors import SurroundingsError
from tests.helpers.tiny_models import write_tiny_llama


def test_the_same_model_elsewhere_is_the_same_model(tmp_path: Path) -> None:
    first, second = write_tiny_llama(tmp_path / "a"), write_tiny_llama(tmp_path / "b")
    assert model_hash(first) == model_hash(second)


def test_other_weights_of_the_same_shape_are_another_model(tmp_path: Path) -> None:
    """A fine-tuned copy has its base's config, sizes and headers: an adapter must not be resumed on it."""
    base, tuned = write_tiny_llama(tmp_path / "a", seed=1), write_tiny_llama(tmp_path / "b", seed=2)
    assert (base / "config.json").read_bytes() == (tuned / "config.json").read_bytes()
    assert model_hash(base) != model_hash(tuned)


def test_one_changed_tensor_is_noticed(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path / "model")
    before, weights = model_hash(folder), folder / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    for place in range(len(raw) - 32 * 4 * 320, len(raw), 4):  # the head, which lies last: each value's lowest byte
        raw[place] ^= 1
    weights.write_bytes(raw)
    assert model_hash(folder) != before


@pytest.mark.parametrize(
    "content", [b"", b"12345678", b"\xff" * 64, (2).to_bytes(8, "little") + b"[]", b"\x08" + b"\0" * 7 + b'{"a":{}}']
)
def test_what_is_no_safetensors_file_is_named(tmp_path: Path, content: bytes) -> None:
    folder = write_tiny_llama(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(SurroundingsError) as caught:
        model_hash(folder)
    assert caught.value.code == "bad_safetensors"
