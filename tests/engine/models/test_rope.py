"""Inverse frequencies against transformers' own."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from engine.models.rope import inverse_frequencies
from tests.helpers.tiny_models import LLAMA

LLAMA3 = {"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


@pytest.mark.parametrize("head_dim", [8, 64, 128])
@pytest.mark.parametrize("theta", [1e4, 5e5, 1e6])
@pytest.mark.parametrize("scaling", [None, {"rope_type": "linear", "factor": 4.0}, {"rope_type": "llama3", **LLAMA3}])
def test_same_numbers_as_transformers(scaling: dict[str, object] | None, theta: float, head_dim: int) -> None:
    config = {**LLAMA, "head_dim": head_dim, "rope_theta": theta, "rope_scaling": scaling}
    module = LlamaRotaryEmbedding(
        LlamaConfig(head_dim=head_dim, rope_parameters={"rope_theta": theta, "rope_type": "default", **(scaling or {})})
    )
    found = torch.tensor(inverse_frequencies(config, head_dim), dtype=torch.float32)
    # Powers differ by an ulp between libraries, and the blend of llama3 carries it through a few operations.
    torch.testing.assert_close(found, module.inv_freq, rtol=8 * torch.finfo(torch.float32).eps, atol=0.0)
    assert module.attention_scaling == 1.0
