"""Arguments for every kernel of engine/kernels at given sizes: small for the sanitizers, large for measurements.

Where memory comes from is the caller's business (torch, or PyCUDA alone); a case only says what must be in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.kernels.families.norm import strip_rows, strips
from engine.kernels.families.optimizer import CHUNK, STATE_BLOCK
from engine.kernels.families.rope import weight_blocks
from engine.kernels.families.tokens import cached_packs
from engine.kernels.spec import Number

Arguments = dict[str, Number]
Dtype = Literal["bf16", "f32", "i32", "i64", "i8", "u8"]


class Memory(Protocol):
    """Device memory; each call gives the address of a new array."""

    def random(self, *shape: int, dtype: Dtype = "bf16") -> int:
        """Normal numbers."""

    def unset(self, *shape: int, dtype: Dtype = "bf16") -> int:
        """An output: nothing may be read before it is written."""

    def given(self, values: NDArray[np.generic]) -> int:
        """A copy of these values."""


@dataclass(frozen=True)
class Sizes:
    """Shape letters as in the engine; `elements` is the length of flat arrays, `logit_rows` a chunk of the head."""

    tokens: int
    hidden: int
    feed_forward: int
    q_heads: int
    k_heads: int
    head_dim: int
    vocabulary: int
    logit_rows: int
    elements: int
    shared_bytes: int


Case = tuple[str, Arguments]
EPS = 1e-6
ADAMW: Arguments = {
    "beta2": 0.999, "log_beta1": math.log(0.9), "log_beta2": math.log(0.999), "epsilon": 1e-8, "weight_decay": 0.1,
}  # fmt: skip


def _step_state(m: Memory) -> int:
    return m.given(np.array([1234, 5, 1, 0], dtype=np.int64))


def norm(m: Memory, s: Sizes) -> Iterator[Case]:
    rows, width = s.tokens, s.hidden
    size: Arguments = {"rows": rows, "width": width}
    weight, rstd = m.random(width), m.given(np.full(rows, 0.9, dtype=np.float32))
    yield "rms_norm_forward", {
        "x": m.random(rows, width), "residual": m.random(rows, width), "weight": weight, "sum": m.unset(rows, width),
        "y": m.unset(rows, width), "rstd": m.unset(rows, dtype="f32"), "eps": EPS, **size,
    }  # fmt: skip
    backward: Arguments = {
        "dy": m.random(rows, width), "s": m.random(rows, width), "weight": weight, "rstd": rstd,
        "dresidual": m.random(rows, width), "dx": m.unset(rows, width), **size,
    }  # fmt: skip
    yield "rms_norm_backward", backward
    partials = m.unset(strips(rows, width), width, dtype="f32")
    yield "rms_norm_weight_backward", {**backward, "partials": partials, "strip": strip_rows(rows, width)}
    out = m.unset(width, dtype="f32")
    yield "column_sum", {"partials": partials, "out": out, "rows": strips(rows, width), "width": width}
    yield "bias_backward_strip", {"dy": backward["dy"], "partials": partials, "strip": strip_rows(rows, width), **size}


def rope(m: Memory, s: Sizes) -> Iterator[Case]:
    half, stride = s.head_dim // 2, (s.q_heads + 2 * s.k_heads) * s.head_dim
    table = m.unset(s.tokens, half, 2, dtype="f32")
    yield "rope_table", {
        "positions": m.given(np.arange(s.tokens, dtype=np.int32)),
        "frequencies": m.given((1e6 ** (-np.arange(half) / half)).astype(np.float32)),
        "table": table, "tokens": s.tokens, "half": half, "scaling": 1.0,
    }  # fmt: skip
    common: Arguments = {
        "qkv": m.random(s.tokens, stride), "q_weight": m.random(s.head_dim), "k_weight": m.random(s.head_dim),
        "table": table, "tokens": s.tokens, "q_heads": s.q_heads, "k_heads": s.k_heads, "head_dim": s.head_dim,
        "stride": stride, "eps": EPS,
    }  # fmt: skip
    y = m.unset(s.tokens, stride)
    yield "qk_norm_rope_forward", {**common, "y": y, "y_stride": stride}
    backward: Arguments = {
        **common,
        "dy": m.random(s.tokens, stride),
        "dx": y,
        "dy_stride": stride,
        "dx_stride": stride,
    }
    yield "qk_norm_rope_backward", backward
    blocks = weight_blocks(s.tokens, s.q_heads, s.k_heads, s.head_dim)
    partials = m.unset(blocks, 2, s.head_dim, dtype="f32")
    yield "qk_norm_rope_weight_backward", {**backward, "partials": partials}


def swiglu(m: Memory, s: Sizes) -> Iterator[Case]:
    rows, width = s.tokens, s.feed_forward
    size: Arguments = {"rows": rows, "width": width}
    gate_up, y = m.random(rows, 2 * width), m.unset(rows, width)
    yield "swiglu_forward", {"gate_up": gate_up, "y": y, **size}
    dgate_up = m.unset(rows, 2 * width)
    yield "swiglu_backward", {"dy": m.random(rows, width), "gate_up": gate_up, "dgate_up": dgate_up, "y": y, **size}


def pointwise(m: Memory, s: Sizes) -> Iterator[Case]:
    count: Arguments = {"count": s.elements}
    x, y, z = m.random(s.elements), m.random(s.elements), m.unset(s.elements)
    use: Arguments = {"step_state": _step_state(m), "purpose": 2, "layer": 3, **count}
    yield "dropout", {"x": x, "y": z, "threshold": 1 << 30, "factor": 4 / 3, **use}
    for name in ("add", "multiply"):
        yield name, {"x": x, "y": y, "z": z, **count}
    yield "scale_add", {"x": x, "y": y, "z": z, "factor": 0.5, **count}
    wide = m.random(s.elements, dtype="f32")
    yield "cast_to_bf16", {"x": wide, "y": z, **count}
    yield "cast_to_bf16_stochastic", {"x": wide, "y": z, **use}
    yield "cast_to_f32", {"x": x, "y": m.unset(s.elements, dtype="f32"), **count}
    rows, width = max(8, s.tokens // 8 * 8), s.hidden
    block: Arguments = {"x": m.random(rows, width), "rows": rows, "width": width}
    out = m.unset(rows, width)
    yield "transpose", {**block, "y": out}
    yield "scale_copy", {**block, "out": out, "x_stride": width, "out_stride": width, "factor": 2.0}
    yield "zero", {"y": m.unset(s.elements, dtype="f32"), "bytes": 4 * s.elements}


def tokens(m: Memory, s: Sizes) -> Iterator[Case]:
    ids = np.random.default_rng(0).integers(0, s.vocabulary, s.tokens, dtype=np.int32)
    common: Arguments = {
        "ids": m.given(ids), "tokens": s.tokens, "width": s.hidden, "vocabulary": s.vocabulary,
    }  # fmt: skip
    yield "embedding_forward", {
        "weight": m.random(s.vocabulary, s.hidden), "x": m.unset(s.tokens, s.hidden), **common,
    }  # fmt: skip
    order = m.unset(s.tokens, dtype="i32")
    yield "embedding_order", {"ids": common["ids"], "order": order, "tokens": s.tokens}
    dweight = m.random(s.vocabulary, s.hidden, dtype="f32")
    yield "embedding_backward", {"order": order, "dy": m.random(s.tokens, s.hidden), "dweight": dweight, **common}


def head(m: Memory, s: Sizes) -> Iterator[Case]:
    stride = (s.vocabulary + 7) // 8 * 8
    rng = np.random.default_rng(1)
    common: Arguments = {
        "logits": m.random(s.logit_rows, stride), "rows": s.logit_rows, "vocabulary": s.vocabulary, "stride": stride,
        "targets": m.given(rng.integers(0, s.vocabulary, s.logit_rows, dtype=np.int32)),
        "weights": m.given(np.ones(s.logit_rows, dtype=np.float32)), "losses": m.unset(s.logit_rows, dtype="f32"),
    }  # fmt: skip
    correct = m.unset(s.logit_rows, dtype="f32")
    yield "cross_entropy_evaluate", {"correct": correct, **common}
    yield "cross_entropy", {"cached": cached_packs(s.shared_bytes, stride), **common}
    yield "ordered_sum", {"values": correct, "out": m.unset(1, dtype="f32"), "count": s.logit_rows}


def step(m: Memory, s: Sizes) -> Iterator[Case]:
    gradient = m.random(s.elements, dtype="f32")
    common: Arguments = {"step_state": _step_state(m), "count": s.elements}
    accumulator = m.random(s.elements, dtype="f32")
    yield "accumulate_f32", {"accumulator": accumulator, "gradient": gradient, **common}
    yield "accumulate_bf16", {"accumulator": accumulator, "gradient": m.random(s.elements), **common}
    slots = m.random(4, dtype="f32")
    yield "store_slot", {"slots": slots, "value": m.random(1, dtype="f32"), "step_state": common["step_state"]}
    starts = np.arange(0, s.elements, CHUNK, dtype=np.int64)
    partials, squares = m.unset(len(starts), dtype="f32"), m.unset(1, dtype="f32")
    yield "squared_sums", {
        "chunk_addresses": m.given(gradient + 4 * starts),
        "chunk_counts": m.given(np.minimum(s.elements - starts, CHUNK).astype(np.int32)),
        "partials": partials, "chunks": len(starts),
    }  # fmt: skip
    ends = m.given(np.array([0, len(starts)], dtype=np.int32))
    yield "slot_sums", {"partials": partials, "slot_starts": ends, "squares": squares, "slots": 1}
    yield "decide_step", {
        "squares": squares, "loss_slots": slots, "weight_slots": m.given(np.ones(4, dtype=np.float32)),
        "limits": _limits(m), "optimizer_step": m.given(np.array([3], dtype=np.int64)),
        "metrics": m.unset(6, dtype="f32"), "decision": m.unset(2, dtype="f32"), "square_count": 1, "slot_count": 4,
    }  # fmt: skip


def _limits(m: Memory) -> int:
    return m.given(np.array([1e-3, 1.0, np.inf, np.inf], dtype=np.float32))


def optimizer(m: Memory, s: Sizes) -> Iterator[Case]:
    blocks = -(-s.elements // STATE_BLOCK)
    common: Arguments = {
        "decision": m.given(np.array([0.5, 1.0], dtype=np.float32)), "limits": _limits(m),
        "optimizer_step": m.given(np.array([3], dtype=np.int64)), "gradient": m.random(s.elements, dtype="f32"),
        "count": s.elements, **ADAMW,
    }  # fmt: skip
    moments: Arguments = {
        "first_moment": m.random(s.elements, dtype="f32"),
        "second_moment": m.given(np.full(s.elements, 0.5, dtype=np.float32)),
    }
    codes: Arguments = {
        "m_codes": m.given(np.full(s.elements, 7, dtype=np.int8)),
        "v_codes": m.given(np.full(s.elements, 9, dtype=np.uint8)),
        "m_scales": m.given(np.full(blocks, 0x3F80, dtype=np.uint16)),
        "v_scales": m.given(np.full(blocks, 0x3F80, dtype=np.uint16)),
    }
    rounding: Arguments = {"step_state": _step_state(m), "purpose": 6, "layer": 1}
    wide: Arguments = {"parameter": m.random(s.elements, dtype="f32"), "working": m.unset(s.elements)}
    narrow: Arguments = {"parameter": m.random(s.elements), **rounding}
    yield "adamw_f32", {**wide, **moments, **common}
    yield "adamw_bf16", {**narrow, **moments, **common}
    yield "adamw_8bit_f32", {**wide, **codes, **common}
    yield "adamw_8bit_bf16", {**narrow, **codes, **common}


Family = Callable[[Memory, Sizes], Iterator[Case]]
FAMILIES: tuple[Family, ...] = (norm, rope, swiglu, pointwise, tokens, head, step, optimizer)
