"""Llama 3.0–3.2 and SmolLM2; Mistral (a sliding window) and Qwen2, Qwen2.5 (biases) are the same block."""

from __future__ import annotations

from engine.graph.builder import Builder
from engine.graph.dims import HD, D, F, H, K, N, SizeLike
from engine.graph.graph import Value
from engine.graph.model_graphs import ModelGraphs
from engine.models.config import DecoderConfig, Family
from engine.models.decoder import build_decoder

LLAMA = Family(
    "llama",
    "LlamaForCausalLM",
    {"hidden_act": "silu", "rms_norm_eps": 1e-6, "max_position_embeddings": 2048},
    has_mlp_bias=True,
)
MISTRAL = Family(
    "mistral",
    "MistralForCausalLM",
    {
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 131072,
        "num_key_value_heads": 8,
        "sliding_window": 4096,
    },
    qkv_bias=False,
    output_bias=False,
    every_layer_slides=True,
)
QWEN2 = Family(
    "qwen2",
    "Qwen2ForCausalLM",
    {
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 32768,
        "num_key_value_heads": 32,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
    qkv_bias=True,
    output_bias=False,
)
FAMILIES = (LLAMA, MISTRAL, QWEN2)


def llama_block(
    b: Builder, c: DecoderConfig, x: Value, positions: Value, documents: Value, window: int | None
) -> Value:
    """x [N, D] → [N, D]."""
    h = b.rms_norm(x, b.weight("input_layernorm.weight", [D], decay=False), eps=c.rms_norm_eps)
    q = b.reshape(linear(b, h, "self_attn.q_proj", H * HD, D, bias=c.qkv_bias), [N, H, HD])
    k = b.reshape(linear(b, h, "self_attn.k_proj", K * HD, D, bias=c.qkv_bias), [N, K, HD])
    v = b.reshape(linear(b, h, "self_attn.v_proj", K * HD, D, bias=c.qkv_bias), [N, K, HD])
    q, k = b.rope(q, positions, c.inverse_frequencies), b.rope(k, positions, c.inverse_frequencies)
    a = b.attention(q, k, v, documents, scale=c.head_dim**-0.5, window=window)
    a = b.reshape(a, [N, H * HD])
    x = b.add(x, linear(b, a, "self_attn.o_proj", D, H * HD, bias=c.output_bias))
    return feed_forward(b, c, x)


def feed_forward(b: Builder, c: DecoderConfig, x: Value) -> Value:
    """The second half of the block: x + down(swiglu(gate(h), up(h))) with h = norm(x)."""
    h = b.rms_norm(x, b.weight("post_attention_layernorm.weight", [D], decay=False), eps=c.rms_norm_eps)
    gate = linear(b, h, "mlp.gate_proj", F, D, bias=c.mlp_bias)
    up = linear(b, h, "mlp.up_proj", F, D, bias=c.mlp_bias)
    return b.add(x, linear(b, b.swiglu(gate, up), "mlp.down_proj", D, F, bias=c.mlp_bias))


def linear(b: Builder, x: Value, module: str, rows: SizeLike, columns: SizeLike, *, bias: bool) -> Value:
    """The projection that checkpoints call `module`: weight [rows, columns] and, where the model has it, a bias."""
    weight = b.weight(f"{module}.weight", [rows, columns])
    return b.linear(x, weight, b.weight(f"{module}.bias", [rows], decay=False) if bias else None)


def build_llama(config: DecoderConfig) -> ModelGraphs:
    return build_decoder(config, llama_block)
