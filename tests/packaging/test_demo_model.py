"""The pieces of the GGUF conversion that could be wrong without anything crashing."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import numpy as np
import pytest

from tests.helpers.sources import ROOT


@pytest.fixture(scope="module")
def demo_model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo_model", ROOT / "packaging" / "demo_model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_row_order_undoes_the_one_of_llama_cpp(demo_model: ModuleType) -> None:
    heads, head_dim = 3, 8
    rows = np.arange(heads * head_dim * 2, dtype=np.float32).reshape(heads * head_dim, 2)
    # as llama.cpp's converter writes them: the two rotary halves of each head interleaved
    stored = rows.reshape(heads, 2, head_dim // 2, 2).swapaxes(1, 2).reshape(rows.shape)
    assert not np.array_equal(stored, rows)
    np.testing.assert_array_equal(demo_model.in_half_split_order(stored, heads), rows)


def test_bfloat16_rounds_to_the_nearest_and_ties_to_even(demo_model: ModuleType) -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, -3.1415927, 0.0], dtype=np.float32)
    back = (demo_model.bfloat16_bits(values).astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(back, np.array([1.0, 1.0, 1.015625, -3.140625, 0.0], dtype=np.float32))


def test_names(demo_model: ModuleType) -> None:
    assert demo_model.hugging_face_name("blk.12.attn_q.weight") == "model.layers.12.self_attn.q_proj.weight"
    assert demo_model.hugging_face_name("token_embd.weight") == "model.embed_tokens.weight"
    with pytest.raises(KeyError):
        demo_model.hugging_face_name("blk.0.unheard_of.weight")


def test_a_folder_with_other_bytes_is_not_whole(demo_model: ModuleType, tmp_path) -> None:
    for name in demo_model.RESULT_SHA256:
        (tmp_path / name).write_bytes(b"other")
    assert not demo_model.is_whole(tmp_path)
