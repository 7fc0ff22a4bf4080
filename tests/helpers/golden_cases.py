"""The grid of golden tests: tiny configurations, methods, layouts of documents, and the micro-batches they train on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any  # values of a config.json; arrays of whatever dtype an input has

import numpy as np
from numpy.typing import NDArray

from engine.graph.options import AdamWOptions, Recompute, ScheduleOptions
from engine.graph.rewrites.lora import LoraOptions
from engine.graph.types import DType

Array = NDArray[Any]

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 131,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
QWEN2 = {**LLAMA, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "tie_word_embeddings": True}
# Wavelengths run from 6 to 5·10⁴ positions: some are kept, some blended, some divided by the factor.
ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "llama-tied": {**LLAMA, "tie_word_embeddings": True},
    "llama-untied": LLAMA,
    "llama3-rope": {**LLAMA, "rope_scaling": ROPE, "rope_theta": 500.0},
    "gqa-4-to-1": {**LLAMA, "num_key_value_heads": 1, "num_hidden_layers": 3},
    "biases": QWEN2,
    "window": {
        **LLAMA,
        "model_type": "mistral",
        "architectures": ["MistralForCausalLM"],
        "sliding_window": 5,
    },
    "qwen3": {
        **LLAMA,
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "head_dim": 24,
        "tie_word_embeddings": True,
    },
}
LAYOUTS: Mapping[str, Sequence[Sequence[Sequence[int]]]] = {
    # Micro-batches → rows → lengths of documents; what is left of a row is padding.
    "ragged": (((5, 1, 7), (16,)), ((2, 9, 4), (3, 3))),
    "single": (((16,),), ((16,),)),
    # The same four rows as one micro-batch of four, and as four of one.
    "4x1": (((5, 1, 7), (16,), (2, 9, 4), (3, 3)),),
    "1x4": (((5, 1, 7),), ((16,),), ((2, 9, 4),), ((3, 3),)),
}
GRID_LAYOUTS = ("ragged", "single")
SEQUENCE_LENGTH = 16
RANK, ALPHA = 4, 6.0
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
ADAMW = AdamWOptions(beta1=0.9, beta2=0.95, epsilon=1e-8, weight_decay=0.1)
MAXIMUM_GRAD_NORM = 0.5
STEPS = 20
LEARNING_RATES = {"lora": 5e-3, "full": 1e-3}


@dataclass(frozen=True)
class Document:
    """ids, targets, loss_weights of one document: the next token is the target; a quarter of them do not count."""

    ids: Array
    targets: Array
    loss_weights: Array


@dataclass(frozen=True)
class MicroBatch:
    """Documents of each row."""

    rows: Sequence[Sequence[Document]]

    @property
    def documents(self) -> list[Document]:
        return [document for row in self.rows for document in row]

    def inputs(self, max_documents: int) -> dict[str, Array]:
        """The engine's input tensors: flat tokens, and offsets with one document of padding at the end of each row."""
        flat = {
            "ids": np.zeros((len(self.rows), SEQUENCE_LENGTH), np.int32),
            "targets": np.zeros((len(self.rows), SEQUENCE_LENGTH), np.int32),
            "positions": np.zeros((len(self.rows), SEQUENCE_LENGTH), np.int32),
            "loss_weights": np.zeros((len(self.rows), SEQUENCE_LENGTH), np.float32),
        }
        offsets = [0]
        for number, row in enumerate(self.rows):
            at = 0
            for document in row:
                where = number, slice(at, at + len(document.ids))
                flat["ids"][where], flat["targets"][where] = document.ids, document.targets
                flat["loss_weights"][where] = document.loss_weights
                flat["positions"][where] = np.arange(len(document.ids))
                at += len(document.ids)
                offsets.append(number * SEQUENCE_LENGTH + at)
            offsets += [number * SEQUENCE_LENGTH + at] * (max_documents - len(row)) + [(number + 1) * SEQUENCE_LENGTH]
        arrays = {f"input/{name}": array.reshape(-1) for name, array in flat.items()}
        return {**arrays, "input/documents": np.array(offsets, np.int32)}


@dataclass(frozen=True)
class Case:
    """One cell of the grid, but for recompute, which changes nothing that an oracle could see.

    `fused` is of no consequence to an oracle either; ask it for the case without, so that it answers once for both.
    """

    config_name: str
    method: str
    layout: str
    dropout: float = 0.0
    precision: DType = DType.F32
    fused: bool = False

    @property
    def config(self) -> Mapping[str, Any]:
        return CONFIGS[self.config_name]

    @property
    def learning_rate(self) -> float:
        return LEARNING_RATES[self.method]

    @cached_property
    def micro_batches(self) -> list[MicroBatch]:
        generator = np.random.default_rng(7)
        return [
            MicroBatch([[_document(length, self.config["vocab_size"], generator) for length in row] for row in rows])
            for rows in LAYOUTS[self.layout]
        ]

    @property
    def max_documents(self) -> int:
        return max(len(row) for rows in LAYOUTS[self.layout] for row in rows)

    def options(self, recompute: Recompute) -> ScheduleOptions:
        return ScheduleOptions(
            micro_batch_size=len(LAYOUTS[self.layout][0]),
            sequence_length=SEQUENCE_LENGTH,
            max_documents=self.max_documents,
            gradient_accumulation_steps=len(LAYOUTS[self.layout]),
            chunk_tokens=6,
            optimizer=ADAMW,
            lora=LoraOptions(RANK, ALPHA, TARGETS, self.dropout) if self.method == "lora" else None,
            precision=self.precision,
            recompute=recompute,
            fused=self.fused,
            generation_context=SEQUENCE_LENGTH,
            prefill_chunk=6,
        )


def _document(length: int, vocabulary: int, generator: np.random.Generator) -> Document:
    tokens = generator.integers(0, vocabulary, length + 1).astype(np.int32)
    weights = (generator.random(length) > 0.25).astype(np.float32)
    return Document(tokens[:-1], tokens[1:], weights)


@dataclass(frozen=True)
class Outcome:
    """What both sides report: logits[tokens of all documents, V] and gradients of the first micro-batch, losses and
    gradient norms of all steps, and the weights after them."""

    logits: Array
    gradients: Mapping[str, Array]
    losses: Array
    grad_norms: Array
    weights: Mapping[str, Array]
