from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from engine.protocol.errors import SurroundingsError
from engine.training.safetensors_file import (
    SafetensorsFile,
    TensorEntry,
    bfloat16_to_float32,
    float32_to_bfloat16,
    write_safetensors,
)


def test_the_library_reads_what_we_write_and_the_hash_is_the_files(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": float32_to_bfloat16(np.array([1.0, -2.5], np.float32)),
        "scalar": np.array(3, np.int64),
        "empty": np.empty((0, 4), np.float32),
    }
    kinds = {"a": "F32", "b": "BF16", "scalar": "I64", "empty": "F32"}
    entries = [TensorEntry(name, kinds[name], array.shape) for name, array in arrays.items()]
    digest = write_safetensors(tmp_path / "x.safetensors", entries, lambda e: arrays[e.name], {"step": "7"})
    loaded = load_file(tmp_path / "x.safetensors")
    assert loaded["b"].dtype == torch.bfloat16
    assert loaded["b"].tolist() == [1.0, -2.5]
    assert loaded["a"].tolist() == arrays["a"].tolist()
    assert loaded["scalar"].item() == 3
    assert loaded["empty"].shape == (0, 4)
    assert digest == hashlib.sha256((tmp_path / "x.safetensors").read_bytes()).hexdigest()
    ours = SafetensorsFile(tmp_path / "x.safetensors")
    assert ours.metadata == {"step": "7"}
    assert all(np.array_equal(ours.read(name), array) for name, array in arrays.items())


def test_we_read_what_the_library_writes(tmp_path: Path) -> None:
    weight = torch.randn(5, 7)
    save_file({"w": weight.bfloat16(), "v": weight.half()}, tmp_path / "y.safetensors")
    file = SafetensorsFile(tmp_path / "y.safetensors")
    assert np.array_equal(file.read_float32("w"), weight.bfloat16().float().numpy())
    assert np.array_equal(file.read_float32("v"), weight.half().float().numpy())


def test_a_cut_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "z.safetensors"
    save_file({"w": torch.ones(100)}, path)
    whole = path.read_bytes()
    for length in (0, 4, 20, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(SurroundingsError) as caught:
            SafetensorsFile(path)
        assert caught.value.code == "safetensors_broken"


def test_a_tensor_of_another_shape_is_never_written_silently(tmp_path: Path) -> None:
    entry = TensorEntry("w", "F32", (2, 2))
    with pytest.raises(ValueError, match="expected F32"):
        write_safetensors(tmp_path / "w.safetensors", [entry], lambda _: np.zeros(3, np.float32), {})


@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_rounding_to_bf16_is_torchs(values: list[float]) -> None:
    array = np.array(values, np.float32)
    ours = bfloat16_to_float32(float32_to_bfloat16(array))
    theirs = torch.from_numpy(array).bfloat16().float().numpy()
    assert np.array_equal(ours, theirs, equal_nan=True)
