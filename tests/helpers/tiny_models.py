"""Tiny random models in Hugging Face's folder layout: what the Hub, the engine and the golden tests are fed.

Written with numpy alone, so importing this file costs no torch. The numbers are random but fixed by the seed; the
tokenizer is a byte-level BPE trained on a few sentences, so every text round-trips.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any  # Any: the values of a model's config.json are plain JSON

import numpy as np

Weights = dict[str, np.ndarray]

BEGIN, END, TURN, TURN_END, PADDING = "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|pad|>"
DTYPE_CODES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
SPECIAL_TOKENS = (BEGIN, END, TURN, TURN_END, PADDING)

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

CORPUS = (
    "The quick brown fox jumps over the lazy dog and the dog does not mind at all.",
    "A small model learns a small thing, and then it says the small thing again.",
    "user asks a question and the assistant answers the question with one sentence.",
    "system: you are a helpful assistant. What is the capital of France? The capital of France is Paris.",
    "Training lowers the loss, evaluation measures the loss, and the export keeps what was learned.",
)

LLAMA: Mapping[str, Any] = {  # Any: JSON
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 320,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "rope_scaling": None,
    "hidden_act": "silu",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "initializer_range": 0.02,
    "use_cache": True,
    "bos_token_id": SPECIAL_TOKENS.index(BEGIN),
    "eos_token_id": SPECIAL_TOKENS.index(TURN_END),
    "pad_token_id": SPECIAL_TOKENS.index(PADDING),
}

QWEN3: Mapping[str, Any] = {  # Any: JSON
    **{key: value for key, value in LLAMA.items() if key != "mlp_bias"},
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": True,
    "use_sliding_window": False,
    "sliding_window": None,
    "max_window_layers": 2,
}


def write_tiny_llama(
    folder: Path, *, seed: int = 0, dtype: str = "float32", shards: int = 1, scale: float = 0.08, **overrides: object
) -> Path:
    """Write a random Llama (weights, config, tokenizer, template) and return its folder.

    `overrides` replace keys of config.json (for a Mistral or Qwen2.5 name `model_type` and `architectures`); `dtype` is
    float32, float16 or bfloat16; `scale` is the standard deviation of the weights; `shards` > 1 writes an index too.
    """
    return _write_model(folder, {**LLAMA, **overrides}, seed=seed, dtype=dtype, shards=shards, scale=scale)


def write_tiny_qwen3(
    folder: Path, *, seed: int = 0, dtype: str = "float32", shards: int = 1, scale: float = 0.08, **overrides: object
) -> Path:
    """Write a random Qwen3 (a norm per query and key head, tied embeddings); arguments and result as for Llama."""
    return _write_model(folder, {**QWEN3, **overrides}, seed=seed, dtype=dtype, shards=shards, scale=scale)


def _write_model(folder: Path, config: dict[str, Any], *, seed: int, dtype: str, shards: int, scale: float) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config = {**config, "torch_dtype": dtype, "transformers_version": "4.51.0"}
    generator = np.random.default_rng(seed)
    weights = {name: _draw(generator, name, shape, scale) for name, shape in parameter_shapes(config)}
    _write_weights(folder, weights, dtype, shards)
    _write_json(folder / "config.json", config)
    generation = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    _write_json(folder / "generation_config.json", {**generation, "do_sample": False})
    write_tiny_tokenizer(folder, vocabulary=int(config["vocab_size"]))
    return folder


def parameter_shapes(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the Hugging Face name and shape of every parameter that `config` describes, in the order of the layers."""
    hidden, forward = int(config["hidden_size"]), int(config["intermediate_size"])
    heads, key_heads, head = (int(config[k]) for k in ("num_attention_heads", "num_key_value_heads", "head_dim"))
    kind = config["model_type"]
    biased = {"q_proj", "k_proj", "v_proj"} if kind == "qwen2" else set[str]()
    if config.get("attention_bias"):
        biased |= {"q_proj", "k_proj", "v_proj", "o_proj"}
    if config.get("mlp_bias"):
        biased |= {"gate_proj", "up_proj", "down_proj"}
    linears = {
        "self_attn.q_proj": (heads * head, hidden),
        "self_attn.k_proj": (key_heads * head, hidden),
        "self_attn.v_proj": (key_heads * head, hidden),
        "self_attn.o_proj": (hidden, heads * head),
        "mlp.gate_proj": (forward, hidden),
        "mlp.up_proj": (forward, hidden),
        "mlp.down_proj": (hidden, forward),
    }
    yield "model.embed_tokens.weight", (int(config["vocab_size"]), hidden)
    for layer in range(int(config["num_hidden_layers"])):
        prefix = f"model.layers.{layer}"
        yield f"{prefix}.input_layernorm.weight", (hidden,)
        yield f"{prefix}.post_attention_layernorm.weight", (hidden,)
        if kind == "qwen3":
            yield f"{prefix}.self_attn.q_norm.weight", (head,)
            yield f"{prefix}.self_attn.k_norm.weight", (head,)
        for name, shape in linears.items():
            yield f"{prefix}.{name}.weight", shape
            if name.rpartition(".")[2] in biased:
                yield f"{prefix}.{name}.bias", shape[:1]
    yield "model.norm.weight", (hidden,)
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", (int(config["vocab_size"]), hidden)


def _draw(generator: np.random.Generator, name: str, shape: tuple[int, ...], scale: float) -> np.ndarray:
    values = generator.standard_normal(shape, dtype=np.float32) * np.float32(scale)
    return values + np.float32(1.0) if name.endswith("norm.weight") else values


def _encode(values: np.ndarray, dtype: str) -> bytes:
    if dtype != "bfloat16":
        return values.astype(dtype).tobytes()
    bits = values.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))  # to nearest, ties to even
    return (rounded >> np.uint32(16)).astype(np.uint16).tobytes()


def _write_weights(folder: Path, weights: Weights, dtype: str, shards: int) -> None:
    names = list(weights)
    per_shard = -(-len(names) // shards)
    placed: dict[str, str] = {}
    total = 0
    for shard in range(shards):
        file = "model.safetensors" if shards == 1 else f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: weights[name] for name in names[shard * per_shard : (shard + 1) * per_shard]}
        total += write_safetensors(folder / file, part, dtype)
        placed.update(dict.fromkeys(part, file))
    if shards > 1:
        _write_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": placed})


def write_safetensors(path: Path, weights: Weights, dtype: str) -> int:
    """Write `weights` as one safetensors file (by hand: numpy has no bfloat16); returns the bytes of its tensors."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, values in weights.items():
        begin = len(data)
        data += _encode(values, dtype)
        header[name] = {"dtype": DTYPE_CODES[dtype], "shape": list(values.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode("utf-8")
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))
    return len(data)


def write_tiny_tokenizer(folder: Path, *, vocabulary: int = 320, chat_template: str | None = CHAT_TEMPLATE) -> Path:
    """Write tokenizer.json (byte-level BPE), tokenizer_config.json with the template, and special_tokens_map.json."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"bos_token": BEGIN, "eos_token": TURN_END, "pad_token": PADDING}
    settings: dict[str, object] = {
        **special,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 256,
        "clean_up_tokenization_spaces": False,
    }
    if chat_template is not None:
        settings["chat_template"] = chat_template
    _write_json(folder / "tokenizer_config.json", settings)
    _write_json(folder / "special_tokens_map.json", special)
    return folder


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
