"""Names, shapes and counts against transformers' own tiny models; refusals name the field."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from typing import Any  # Any: config.json is plain JSON

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.models.registry import build_model, describe, supported_architectures
from engine.models.weights import weight_map
from engine.protocol.errors import SurroundingsError
from tests.helpers.tiny_models import LLAMA, QWEN3

Json = Mapping[str, Any]  # Any: JSON

MISTRAL = {**LLAMA, "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 7}
QWEN2 = {**QWEN3, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
CONFIGS = {
    "llama": LLAMA,
    "llama tied": {**LLAMA, "tie_word_embeddings": True},
    "llama with biases": {**LLAMA, "attention_bias": True, "mlp_bias": True},
    "llama3 rope": {**LLAMA, "rope_scaling": LLAMA3_ROPE, "num_key_value_heads": 1},
    "llama without head_dim": {key: value for key, value in LLAMA.items() if key != "head_dim"},
    "mistral": MISTRAL,
    "qwen2": QWEN2,
    "qwen2 untied": {**QWEN2, "tie_word_embeddings": False},
    "qwen3": QWEN3,
    "qwen3 with wide heads and biases": {**QWEN3, "head_dim": 16, "attention_bias": True},
}


def reference(config: Json) -> torch.nn.Module:
    """A random model of transformers. The config is copied: transformers writes into nested objects."""
    arguments = deepcopy({key: value for key, value in config.items() if key not in ("model_type", "architectures")})
    made = AutoConfig.for_model(config["model_type"], **arguments)
    model: torch.nn.Module = AutoModelForCausalLM.from_config(made)  # type: ignore[no-untyped-call]  # as published
    return model


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_parameters_are_those_of_transformers(config: Json) -> None:
    model = reference(config)
    names = weight_map(build_model(config))
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert dict(names.parameters) == expected
    state = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    names.check(state)  # with lm_head.weight listed though it is tied
    assert describe(config).parameters == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_lora_targets_are_the_linears_of_a_layer(config: Json) -> None:
    modules = {
        name.rsplit(".", 1)[-1]
        for name, module in reference(config).named_modules()
        if isinstance(module, torch.nn.Linear) and ".layers." in name
    }
    assert set(describe(config).lora_targets) == modules


def sized(base: Json, hidden: int, ffn: int, layers: int, heads: str, vocabulary: int, **more: object) -> Json:
    """A published model's config.json: heads as "queries/keys/width"."""
    queries, keys, width = (int(each) for each in heads.split("/"))
    names = ("num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size", "intermediate_size")
    shape = dict(zip(names, (queries, keys, width, hidden, ffn), strict=True))
    return {**base, **shape, "num_hidden_layers": layers, "vocab_size": vocabulary, **more}


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (sized(LLAMA, 4096, 14336, 32, "32/8/128", 128256, rope_scaling=LLAMA3_ROPE), 8_030_261_248),  # Llama 3.1 8B
        (sized(LLAMA, 2048, 8192, 16, "32/8/64", 128256, tie_word_embeddings=True), 1_235_814_400),  # Llama 3.2 1B
        (sized(LLAMA, 576, 1536, 30, "9/3/64", 49152, tie_word_embeddings=True), 134_515_008),  # SmolLM2 135M
        (sized(MISTRAL, 4096, 14336, 32, "32/8/128", 32000), 7_241_732_096),  # Mistral 7B v0.1
        (sized(QWEN2, 896, 4864, 24, "14/2/64", 151936), 494_032_768),  # Qwen2.5 0.5B
        (sized(QWEN3, 1024, 3072, 28, "16/8/128", 151936), 596_049_920),  # Qwen3 0.6B
    ],
)
def test_published_models_have_their_published_sizes(config: Json, parameters: int) -> None:
    found = describe(config)
    assert found.parameters == parameters
    assert found.weight_bytes == {"f32": 4 * parameters, "bf16": 2 * parameters}
    assert (found.layers, found.hidden_size) == (config["num_hidden_layers"], config["hidden_size"])
    assert found.tied_embeddings is config["tie_word_embeddings"]


def test_both_generations_of_rope_keys_mean_the_same() -> None:
    old = {**LLAMA, "rope_theta": 5e5, "rope_scaling": LLAMA3_ROPE}
    new = {key: value for key, value in LLAMA.items() if key not in ("rope_theta", "rope_scaling")}
    new["rope_parameters"] = {**LLAMA3_ROPE, "rope_theta": 5e5}
    assert build_model(old) == build_model(new)


def test_windows_follow_the_family() -> None:
    def windows(config: Json) -> list[object]:
        model = build_model(config)
        nodes = [node for kind in model.pattern for node in model.blocks[kind].nodes if node.op == "attention"]
        return [node.attributes["window"] for node in nodes]

    assert windows(MISTRAL) == [7, 7]
    assert windows({**MISTRAL, "sliding_window": None}) == [None, None]
    assert windows({key: value for key, value in MISTRAL.items() if key != "sliding_window"}) == [4096, 4096]
    sliding = {**QWEN2, "sliding_window": 9, "max_window_layers": 1}
    assert windows(sliding) == [None, None]
    assert windows({**sliding, "use_sliding_window": True}) == [None, 9]
    layer_types = ["sliding_attention", "full_attention"]
    assert windows({**sliding, "use_sliding_window": True, "layer_types": layer_types}) == [9, None]


@pytest.mark.scenario("S22")
@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"model_type": "mamba"}, "model_unsupported", "model_type is 'mamba'; the architectures that can be trained"),
        ({"model_type": None}, "model_unsupported", "model_type is None"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "model_unsupported", "only LlamaForCausalLM"),
        ({"quantization_config": {"quant_method": "awq"}}, "model_quantized", "weights are quantized (awq)"),
        ({"auto_map": {"AutoModel": "x.py"}}, "model_remote_code", "run code from the repository"),
        ({"hidden_act": "gelu"}, "model_unsupported", "hidden_act is 'gelu', but only 'silu' is built"),
        ({"attention_dropout": 0.1}, "model_unsupported", "attention_dropout is 0.1"),
        ({"hidden_size": None}, "model_unsupported", "hidden_size is missing"),
        ({"hidden_size": "32"}, "model_unsupported", "hidden_size is '32', but must be a positive whole number"),
        ({"num_key_value_heads": 3}, "model_unsupported", "which does not divide the 4 attention heads"),
        ({"partial_rotary_factor": 0.5}, "model_unsupported", "partial_rotary_factor is 0.5"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "model_unsupported", "rope type 'yarn'"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "model_unsupported", "rope type 'dynamic'"),
        ({"rope_scaling": {"type": "linear"}}, "model_unsupported", "rope_parameters.factor is None"),
        ({"tie_word_embeddings": "yes"}, "model_unsupported", "tie_word_embeddings is 'yes'"),
    ],
)
def test_what_cannot_be_trained_says_why(change: Json, code: str, text: str) -> None:
    with pytest.raises(SurroundingsError) as caught:
        describe({**LLAMA, **change})
    assert caught.value.code == code
    assert text in caught.value.message
    assert caught.value.remedy


def test_damaged_weight_files_are_named() -> None:
    names = weight_map(build_model(LLAMA))
    shapes = dict(names.parameters)
    names.check({**shapes, "model.layers.0.self_attn.rotary_emb.inv_freq": (4,)})
    missing = {name: shape for name, shape in shapes.items() if name != "lm_head.weight"}
    with pytest.raises(SurroundingsError, match=r"no tensor 'lm_head\.weight'"):
        names.check(missing)
    with pytest.raises(SurroundingsError, match=r"'model\.norm\.weight' has shape \[31\], but \[32\] is expected"):
        names.check({**shapes, "model.norm.weight": (31,)})
    with pytest.raises(SurroundingsError, match=r"a tensor 'score\.weight' that this architecture"):
        names.check({**shapes, "score.weight": (2, 32)})
    for name in shapes:
        assert names.parameter_of(names.tensor_of(name)) == name
    with pytest.raises(KeyError):
        names.tensor_of("score.weight")


def test_supported_architectures_are_class_names() -> None:
    assert supported_architectures() == (
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
    )


def test_the_registry_is_cheap_to_import() -> None:
    """The window's process imports it: neither numpy nor anything heavier comes along."""
    code = "import sys, engine.models.registry; print(sorted({'numpy', 'torch', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
