"""A recipe and a plan for it that no planner made: for tests of what happens after planning."""

from __future__ import annotations

from pathlib import Path

from engine.protocol.plan import Budget, MemoryRow, Numerics, Placement, Plan, Timeline
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, recipe_hash, resolve


def small_recipe(folder: Path, **settings: object) -> Recipe:
    """A LoRA recipe over a model folder and a dataset that need not exist."""
    return Recipe(
        model=ModelRef("folder", path=str(folder / "SmolLM2-135M")),
        datasets=(DatasetRef(str(folder / "rows.jsonl")),),
        **settings,  # type: ignore[arg-type]  # the test names real keys; the struct checks them
    )


def plan_for(recipe: Recipe) -> Plan:
    """A plan of made-up figures that belongs to the recipe."""
    r = resolve(recipe)
    return Plan(
        recipe_hash=recipe_hash(recipe),
        numerics=Numerics(
            method=r.method, precision=r.precision, micro_batch_size=r.micro_batch_size,
            sequence_length=r.sequence_length, maximum_documents=4,
            gradient_accumulation_steps=r.gradient_accumulation_steps, head_chunk_tokens=256, lora_rank=r.lora_rank,
            lora_alpha=r.lora_alpha, lora_dropout=r.lora_dropout, lora_targets=r.lora_targets,
            use_rslora=r.use_rslora, threads=1, seed=r.seed, model_hash="m", dataset_hash="d", tokenizer_hash="t",
            engine_version="0",
        ),
        placement=Placement(device="cpu", recompute="none", arena_bytes=1024, offsets={"x": 0}),
        memory=(MemoryRow(category="weights", device_bytes=0, host_bytes=1024),),
        budgets=(
            Budget(memory="host", capacity_bytes=4096, other_bytes=0, planned_bytes=1024, verdict="fits"),
        ),
        timeline=Timeline(
            total_steps=5, steps_per_epoch=5.0, warmup_steps=0, evaluate_every_steps=0, checkpoint_every_steps=0,
            evaluations=0, tokens_per_step=100, trained_tokens_per_epoch=500, step_seconds=0.1, tokens_per_second=1000,
            total_seconds=0.5, flops_per_step=1.0, measured=False,
        ),
        checkpoint_bytes=10,
        verdict="fits",
        trainable_parameters=10,
        total_parameters=100,
    )  # fmt: skip
