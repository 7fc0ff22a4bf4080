"""What all decoders here share: embedding, head, and the pattern of the layers between."""

from __future__ import annotations

from collections.abc import Callable

from engine.graph.builder import Builder
from engine.graph.dims import D, M, N, V
from engine.graph.graph import Graph, Value
from engine.graph.model_graphs import HIDDEN, ModelGraphs
from engine.graph.types import DType
from engine.models.config import DecoderConfig

# (builder, config, x, positions, documents, window) → the block's result
Block = Callable[[Builder, DecoderConfig, Value, Value, Value, int | None], Value]

EMBEDDING = "model.embed_tokens.weight"
LAYER_PREFIX = "model.layers.{layer}."


def build_decoder(config: DecoderConfig, block: Block) -> ModelGraphs:
    """One graph for the layers with full attention, one for each width of window, and the pattern over them."""
    return ModelGraphs(
        architecture=config.architecture,
        dims=config.dims(),
        embed=_embed(),
        blocks={_kind(window): _block(config, block, window) for window in dict.fromkeys(config.windows)},
        pattern=tuple(_kind(window) for window in config.windows),
        head=_head(config),
        layer_prefix=LAYER_PREFIX,
    )


def _embed() -> Graph:
    b = Builder("embed")
    ids = b.input("input/ids", [N], DType.I32)
    return b.finish(b.embedding(ids, b.weight(EMBEDDING, [V, D])))


def _block(config: DecoderConfig, block: Block, window: int | None) -> Graph:
    b = Builder(_kind(window))
    x = b.input(HIDDEN, [N, D])
    positions = b.input("input/positions", [N], DType.I32)
    documents = b.input("input/documents", [M + 1], DType.I32)
    return b.finish(block(b, config, x, positions, documents, window))


def _head(config: DecoderConfig) -> Graph:
    b = Builder("head")
    x = b.input(HIDDEN, [N, D])
    targets = b.input("input/targets", [N], DType.I32)
    loss_weights = b.input("input/loss_weights", [N], DType.F32)
    h = b.rms_norm(x, b.weight("model.norm.weight", [D], decay=False), eps=config.rms_norm_eps)
    weight = b.weight(EMBEDDING if config.tied else "lm_head.weight", [V, D])
    return b.finish(*b.head_loss(h, weight, targets, loss_weights))


def _kind(window: int | None) -> str:
    return "block" if window is None else f"block.window_{window}"
