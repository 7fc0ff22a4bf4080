"""Small schedules for tests: a tiny model with chosen options, and a first-fit arena to put them into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any  # Any: config.json is plain JSON

from engine.graph.lifetimes import lifetimes
from engine.graph.options import AdamWOptions, Recompute, ScheduleOptions
from engine.graph.programs import build_schedule
from engine.graph.rewrites.lora import LoraOptions
from engine.graph.schedule import Schedule
from engine.graph.types import DType
from engine.models.registry import build_model
from tests.helpers.tiny_models import LLAMA

LORA = LoraOptions(rank=4, alpha=8.0, targets=("q_proj", "v_proj", "down_proj"), dropout=0.1)
OPTIONS = ScheduleOptions(
    micro_batch_size=2,
    sequence_length=12,
    max_documents=3,
    gradient_accumulation_steps=2,
    chunk_tokens=8,
    optimizer=AdamWOptions(beta1=0.9, beta2=0.95, epsilon=1e-8, weight_decay=0.1),
    lora=None,
    precision=DType.F32,
    recompute=Recompute.OFF,
    fused=False,
    generation_context=16,
    prefill_chunk=4,
)


def tiny_schedule(config: Mapping[str, Any] = LLAMA, **overrides: Any) -> Schedule:  # Any: JSON, any field's type
    """The schedule of a tiny model; `overrides` replace fields of OPTIONS."""
    return build_schedule(build_model(config), replace(OPTIONS, **overrides))


def first_fit(schedule: Schedule) -> dict[str, int]:
    """Byte offsets for all tensors: persistent ones one after the other, then the programs over the same bytes."""
    offsets: dict[str, int] = {}
    base = 0
    for tensor in schedule.tensors.values():
        if tensor.storage.is_persistent and tensor.alias_of is None:
            offsets[tensor.name] = base
            base += -(-tensor.bytes // 256) * 256
    for program in schedule.programs:
        placed: list[tuple[int, int, int, int]] = []  # first, last, start, end
        for life in lifetimes(schedule, program):
            start = base
            for _, _, low, high in sorted((p for p in placed if p[1] >= life.first), key=lambda p: p[2]):
                if start + life.bytes <= low:
                    break
                start = max(start, -(-high // 256) * 256)
            placed.append((life.first, life.last, start, start + life.bytes))
            offsets[life.tensor] = start
    return offsets
