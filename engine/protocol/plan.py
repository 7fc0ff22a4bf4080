"""The plan: every number that was decided for a run, each with its reason.

A plan has two halves. `numerics` holds everything that can change a bit of the result; `placement` says where
things lie and in which order they move, and never changes the numbers. The memory shown before launch is the memory
allocated: `placement.offsets` are the addresses of the engine's tensors within its one arena.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.protocol.codec import VERSION
from engine.protocol.errors import Argument, Problem

Verdict = Literal["fits", "tight", "does_not_fit"]

CATEGORIES = ("weights", "adapters", "gradients", "optimizer", "activations", "workspace")
"""Memory categories in the order in which bars and tables show them."""


class Numerics(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can change a bit. A resume under other numerics is refused by name.

    `maximum_documents` is per row of a micro-batch, padding excluded. `head_chunk_tokens`: rows of logits at once.
    """

    method: str
    precision: str
    micro_batch_size: int
    sequence_length: int
    maximum_documents: int
    gradient_accumulation_steps: int
    head_chunk_tokens: int
    lora_rank: int
    lora_alpha: float
    lora_dropout: float
    lora_targets: tuple[str, ...]
    use_rslora: bool
    threads: int
    seed: int
    model_hash: str
    dataset_hash: str
    tokenizer_hash: str
    engine_version: str


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where things lie. `offsets`: tensor name → byte offset in the arena of `arena_bytes`.

    `generation_context`: tokens of key/value cache held for samples (0: no generation programs).
    """

    device: str
    recompute: str
    arena_bytes: int
    offsets: dict[str, int]
    generation_context: int = 0
    prefill_tokens: int = 0


class MemoryRow(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one category at the peak of a step, on the device and on the host. A CPU run has host bytes only."""

    category: str
    device_bytes: int
    host_bytes: int


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """One memory: what it holds in all, what other programs use, what the plan takes. All in bytes."""

    memory: Literal["device", "host", "pinned"]
    capacity_bytes: int
    other_bytes: int
    planned_bytes: int
    verdict: Verdict

    @property
    def usable_bytes(self) -> int:
        return self.capacity_bytes - self.other_bytes


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a thing was decided so. `code` and `arguments` for the window; `message` in English."""

    subject: str
    code: str
    message: str
    arguments: dict[str, Argument] = {}


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A change of settings that would make the plan fit (or fit better). `slower`: 0.04 is 4 % slower, None unknown."""

    changes: dict[str, str | int | float | bool]
    frees_bytes: int
    slower: float | None
    verdict: Verdict
    touches: Literal["numerics", "placement"]
    recommended: bool = False


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Steps and the times predicted for them.

    `tokens_per_step` counts every position, `tokens_per_second` real tokens, as a run reports them (all positions where
    the data was not measured).
    """

    total_steps: int
    steps_per_epoch: float
    warmup_steps: int
    evaluate_every_steps: int
    checkpoint_every_steps: int
    evaluations: int
    tokens_per_step: int
    trained_tokens_per_epoch: int
    step_seconds: float
    tokens_per_second: float
    total_seconds: float
    flops_per_step: float
    measured: bool


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """See the module. `problems` of severity "error" refuse the launch."""

    recipe_hash: str
    numerics: Numerics
    placement: Placement
    memory: tuple[MemoryRow, ...]
    budgets: tuple[Budget, ...]
    timeline: Timeline
    checkpoint_bytes: int
    verdict: Verdict
    trainable_parameters: int
    total_parameters: int
    reasons: tuple[Reason, ...] = ()
    problems: tuple[Problem, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    version: int = VERSION


def encode_plan(plan: Plan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan), indent=1)


def decode_plan(raw: bytes) -> Plan:
    """Raises msgspec.ValidationError where it is not a plan of this release's kind."""
    return msgspec.json.decode(raw, type=Plan)
