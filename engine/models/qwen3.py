"""Qwen3: Llama's block with a norm on each query and key head before the rotation."""

from __future__ import annotations

from engine.graph.builder import Builder
from engine.graph.dims import HD, D, H, K, N
from engine.graph.graph import Value
from engine.graph.model_graphs import ModelGraphs
from engine.models.config import DecoderConfig, Family
from engine.models.decoder import build_decoder
from engine.models.llama import feed_forward, linear

QWEN3 = Family(
    "qwen3",
    "Qwen3ForCausalLM",
    {
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 32768,
        "num_key_value_heads": 32,
        "head_dim": 128,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
)


def qwen3_block(
    b: Builder, c: DecoderConfig, x: Value, positions: Value, documents: Value, window: int | None
) -> Value:
    """x [N, D] → [N, D]."""
    h = b.rms_norm(x, b.weight("input_layernorm.weight", [D], decay=False), eps=c.rms_norm_eps)
    q = b.reshape(linear(b, h, "self_attn.q_proj", H * HD, D, bias=c.qkv_bias), [N, H, HD])
    k = b.reshape(linear(b, h, "self_attn.k_proj", K * HD, D, bias=c.qkv_bias), [N, K, HD])
    v = b.reshape(linear(b, h, "self_attn.v_proj", K * HD, D, bias=c.qkv_bias), [N, K, HD])
    q = b.rms_norm(q, b.weight("self_attn.q_norm.weight", [HD], decay=False), eps=c.rms_norm_eps)
    k = b.rms_norm(k, b.weight("self_attn.k_norm.weight", [HD], decay=False), eps=c.rms_norm_eps)
    q, k = b.rope(q, positions, c.inverse_frequencies), b.rope(k, positions, c.inverse_frequencies)
    a = b.attention(q, k, v, documents, scale=c.head_dim**-0.5, window=window)
    a = b.reshape(a, [N, H * HD])
    x = b.add(x, linear(b, a, "self_attn.o_proj", D, H * HD, bias=c.output_bias))
    return feed_forward(b, c, x)


def build_qwen3(config: DecoderConfig) -> ModelGraphs:
    return build_decoder(config, qwen3_block)
