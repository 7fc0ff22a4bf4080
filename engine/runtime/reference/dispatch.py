"""Op name → binder, assembled here in the open, and the one function that turns an instruction into a prepared call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch

from engine.graph.schedule import Instruction
from engine.protocol.errors import Bug
from engine.runtime.reference import attention, dense, dropout, elementwise, embedding, head, norm, packed, rope, step
from engine.runtime.reference.operands import Binder, Call, Operands

BINDERS: Mapping[str, Binder] = MappingProxyType(
    {
        "embedding": embedding.embedding,
        "embedding_backward": embedding.embedding_backward,
        "select_row": embedding.select_row,
        "rms_norm": norm.rms_norm,
        "rms_norm_backward": norm.rms_norm_backward,
        "rms_norm_weight_backward": norm.rms_norm_weight_backward,
        "add_rms_norm": norm.add_rms_norm,
        "rms_norm_residual_backward": norm.rms_norm_residual_backward,
        "rms_norm_residual_weight_backward": norm.rms_norm_residual_weight_backward,
        "linear": dense.linear,
        "linear_input_backward": dense.linear_input_backward,
        "linear_weight_backward": dense.linear_weight_backward,
        "linear_input_backward_add": dense.linear_input_backward_add,
        "linear_segments": dense.linear_segments,
        "linear_segments_input_backward": dense.linear_segments_input_backward,
        "linear_segments_weight_backward": dense.linear_segments_weight_backward,
        "bias_add": dense.bias_add,
        "bias_backward": dense.bias_backward,
        "rope": rope.rope,
        "attention": attention.attention,
        "attention_backward": attention.attention_backward,
        "cached_attention": attention.cached_attention,
        "rope_table": rope.rope_table,
        "rope_packed": packed.rope_packed,
        "qk_norm_rope": packed.qk_norm_rope,
        "qk_norm_rope_backward": packed.qk_norm_rope_backward,
        "qk_norm_rope_weight_backward": packed.qk_norm_rope_backward,
        "attention_packed": packed.attention_packed,
        "attention_packed_backward": packed.attention_packed_backward,
        "cached_attention_packed": packed.cached_attention_packed,
        "add": elementwise.add,
        "multiply": elementwise.multiply,
        "scale": elementwise.scale,
        "cast": elementwise.cast,
        "swiglu": elementwise.swiglu,
        "swiglu_backward": elementwise.swiglu_backward,
        "swiglu_packed": elementwise.swiglu_packed,
        "swiglu_packed_backward": elementwise.swiglu_packed_backward,
        "dropout": dropout.dropout,
        "head_loss": head.head_loss,
        "head_loss_forward": head.head_loss_forward,
        "accumulate": step.accumulate,
        "store_slot": step.store_slot,
        "squared_sum": step.squared_sum,
        "decide_step": step.decide_step,
        "adamw": step.adamw,
    }
)


def bind(instruction: Instruction, views: Mapping[str, torch.Tensor]) -> Call:
    """The instruction as a call on these views (every tensor it touches, by name). Bug for an op that has no binder."""
    if instruction.op not in BINDERS:
        raise Bug(
            "reference_op",
            f"The reference executor has no operation '{instruction.op}' (for '{', '.join(instruction.outputs)}').",
            "This is a fault of the engine; please report it with the recipe.",
        )
    operands = Operands(
        where=f"{instruction.op} → {', '.join(instruction.outputs)}",
        inputs=tuple(views[name] for name in instruction.inputs),
        outputs=tuple(views[name] for name in instruction.outputs),
        attributes=instruction.attributes,
        workspace=views[instruction.workspace] if instruction.workspace else None,
    )
    return BINDERS[instruction.op](operands)
