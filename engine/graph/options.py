"""Everything that decides a schedule besides the model: a frozen struct, no defaults that a recipe also has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from engine.graph.rewrites.lora import LoraOptions
from engine.graph.types import DType


class Recompute(Enum):
    """Presets for what blocks save for their backward pass: all they need, or only their inputs."""

    OFF = "off"
    ON = "on"


@dataclass(frozen=True, slots=True)
class AdamWOptions:
    """The optimizer's constants. The learning rate is no constant: it arrives with `input/limits`."""

    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    """Shapes and choices of one run.

    max_documents: real documents a row of the micro-batch; each row has one more, its padding, so the offsets tensor
    has micro_batch_size · (max_documents + 1) + 1 entries.
    lora: None for full fine-tuning. precision: dtype of weights and activations; masters and accumulators are fp32.
    chunk_tokens: tokens a chunk of the head's logits.
    fused: grouped projections and fused ops (rewrites/pack.py, rewrites/grouped_lora.py, fold.py); other roundings, so
    a choice of numerics.
    generation_context: tokens the key/value caches hold; 0 for no generation programs. prefill_chunk: tokens a call.
    """

    micro_batch_size: int
    sequence_length: int
    max_documents: int
    gradient_accumulation_steps: int
    chunk_tokens: int
    optimizer: AdamWOptions
    lora: LoraOptions | None
    precision: DType
    recompute: Recompute
    fused: bool
    generation_context: int = 0
    prefill_chunk: int = 0

    @property
    def tokens(self) -> int:
        """N: tokens of one micro-batch."""
        return self.micro_batch_size * self.sequence_length

    @property
    def documents(self) -> int:
        """M: documents of one micro-batch, padding ones included."""
        return self.micro_batch_size * (self.max_documents + 1)

    def dims(self) -> dict[str, int]:
        """The letters that a run decides, for the training shape."""
        found = {
            "B": self.micro_batch_size,
            "T": self.sequence_length,
            "N": self.tokens,
            "M": self.documents,
            "A": self.gradient_accumulation_steps,
            "C": self.generation_context,
            "chunk_tokens": min(self.chunk_tokens, self.tokens),
        }
        if self.lora is not None:
            found["R"] = self.lora.rank
        return found
