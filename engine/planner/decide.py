"""The numbers that the recipe leaves open: chunk of the head, threads, generation context. Each with its reason."""

from __future__ import annotations

from engine.models.registry import ModelDescription
from engine.planner.machine import MachineSpec
from engine.protocol.data_messages import DataStatistics
from engine.protocol.plan import Numerics, Placement, Reason
from engine.protocol.recipe import ResolvedRecipe

LOGITS_BYTES = 64 * 2**20
"""Room for one chunk of logits and its gradient: large enough for an efficient GEMM, small beside a model."""

PREFILL_TOKENS = 64
TEMPLATE_TOKENS = 128
"""Tokens kept for what a chat template puts around a sample's prompt (a default system turn, role names)."""

ASSUMED_DOCUMENTS = 16
"""Documents a row where the data has not been measured yet."""


def numerics_of(
    recipe: ResolvedRecipe,
    description: ModelDescription,
    statistics: DataStatistics | None,
    machine: MachineSpec,
    model_hash: str,
    engine_version: str,
) -> Numerics:
    """Everything that can change a bit. Hashes are empty where a thing has not been measured: such a plan cannot be
    launched, only looked at."""
    return Numerics(
        method=recipe.method,
        precision=recipe.precision,
        micro_batch_size=recipe.micro_batch_size,
        sequence_length=recipe.sequence_length,
        maximum_documents=statistics.max_documents if statistics else ASSUMED_DOCUMENTS,
        gradient_accumulation_steps=recipe.gradient_accumulation_steps,
        head_chunk_tokens=head_chunk(description.vocabulary, recipe.micro_batch_size * recipe.sequence_length),
        lora_rank=recipe.lora_rank,
        lora_alpha=recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        lora_targets=recipe.lora_targets,
        use_rslora=recipe.use_rslora,
        threads=recipe.threads or machine.cores,
        seed=recipe.seed,
        model_hash=model_hash,
        dataset_hash=statistics.dataset_hash if statistics else "",
        tokenizer_hash=statistics.tokenizer_hash if statistics else "",
        engine_version=engine_version,
    )


def placement_of(recipe: ResolvedRecipe, description: ModelDescription) -> Placement:
    """Where things lie, before offsets are known."""
    context = min(_sample_tokens(recipe), description.context_length)
    return Placement(
        device="cpu",
        recompute=recipe.recompute,
        arena_bytes=0,
        offsets={},
        generation_context=context,
        prefill_tokens=min(PREFILL_TOKENS, context),
    )


def _sample_tokens(recipe: ResolvedRecipe) -> int:
    """Tokens of the longest sample and its answer at most: no tokenizer makes more tokens than a text has bytes."""
    if not recipe.sample_prompts:
        return 0
    return max(len(prompt.encode()) for prompt in recipe.sample_prompts) + TEMPLATE_TOKENS + recipe.sample_tokens


def head_chunk(vocabulary: int, tokens: int) -> int:
    """Tokens a chunk of the head: a power of two whose fp32 logits fit LOGITS_BYTES, at least 16, at most all."""
    chunk = 16
    while chunk * 2 * vocabulary * 4 <= LOGITS_BYTES and chunk < tokens:
        chunk *= 2
    return min(chunk, tokens)


def reasons_for(recipe: ResolvedRecipe, numerics: Numerics, machine: MachineSpec) -> tuple[Reason, ...]:
    """Why these numbers: what a person would ask about first."""
    tokens = numerics.micro_batch_size * numerics.sequence_length * numerics.gradient_accumulation_steps
    found = [
        Reason(
            subject="device",
            code="no_gpu_engine",
            message="Trains on the CPU: this release has no GPU engine yet.",
            arguments={"cores": machine.cores},
        ),
        Reason(
            subject="gradient_accumulation_steps",
            code="tokens_per_step",
            message=f"{tokens:,} tokens a step at most.",
            arguments={"tokens": tokens},
        ),
        Reason(
            subject="head_chunk_tokens",
            code="head_chunk",
            message=f"Logits are made {numerics.head_chunk_tokens} tokens at a time and never lie whole in memory.",
            arguments={"tokens": numerics.head_chunk_tokens},
        ),
    ]
    if not machine.measured:
        found.append(
            Reason(
                subject="speed",
                code="speed_assumed",
                message="Times are assumed from the number of cores; `anneal doctor --measure` measures this machine.",
                arguments={"cores": machine.cores},
            )
        )
    return tuple(found)
