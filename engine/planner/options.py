"""From recipe and decisions to the options of a schedule. Planner and engine both come through here, so that what was
planned and what is bound are one schedule."""

from __future__ import annotations

from engine.graph.options import AdamWOptions, Recompute, ScheduleOptions
from engine.graph.rewrites.lora import LoraOptions
from engine.graph.types import DType
from engine.protocol.plan import Numerics, Placement
from engine.protocol.recipe import ResolvedRecipe

PRECISIONS = {"fp32": DType.F32, "bf16": DType.BF16}
RECOMPUTE = {"none": Recompute.OFF, "blocks": Recompute.ON}


def schedule_options(recipe: ResolvedRecipe, numerics: Numerics, placement: Placement) -> ScheduleOptions:
    """The options that `numerics` and `placement` stand for; only the optimizer's constants come from the recipe."""
    lora = LoraOptions(
        rank=numerics.lora_rank,
        alpha=numerics.lora_alpha,
        targets=numerics.lora_targets,
        dropout=numerics.lora_dropout,
        rank_stabilised=numerics.use_rslora,
    )
    return ScheduleOptions(
        micro_batch_size=numerics.micro_batch_size,
        sequence_length=numerics.sequence_length,
        max_documents=numerics.maximum_documents,
        gradient_accumulation_steps=numerics.gradient_accumulation_steps,
        chunk_tokens=numerics.head_chunk_tokens,
        optimizer=AdamWOptions(
            beta1=recipe.adam_beta1,
            beta2=recipe.adam_beta2,
            epsilon=recipe.adam_epsilon,
            weight_decay=recipe.weight_decay,
        ),
        lora=lora if numerics.method == "lora" else None,
        precision=PRECISIONS[numerics.precision],
        recompute=RECOMPUTE[placement.recompute],
        fused=False,  # on a CPU nothing is won by fewer calls
        generation_context=placement.generation_context,
        prefill_chunk=placement.prefill_tokens,
    )
