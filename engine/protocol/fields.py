"""Every recipe field, once: key, label, help, kind, range, default. See `schema.FieldSpec` for what each part means.

The order is the order of forms and documentation.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from engine.protocol.schema import FieldSpec

if TYPE_CHECKING:
    from engine.protocol.recipe import Recipe

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def _is_lora(recipe: Recipe) -> bool:
    return method_of(recipe) == "lora"


def method_of(recipe: Recipe) -> str:
    """The method in force: the recipe's, or the default."""
    return recipe.method or "lora"


def _has_minimum(recipe: Recipe) -> bool:
    return recipe.schedule in (None, "cosine", "linear", "wsd")


def _has_samples(recipe: Recipe) -> bool:
    return bool(recipe.sample_prompts)


# A table: one field a paragraph.
# fmt: off
_RUN = (
    FieldSpec("name", "Name", "What this run is called. Free text; two runs may share one.", "text", "run", "basic",
        lambda r: "", affects="record"),
    FieldSpec("seed", "Seed",
        "Fixes the order of rows, the split, dropout and new adapters. The same seed repeats a run.", "integer",
        "run", "advanced", lambda r: 42, minimum=0, maximum=2**31 - 1),
)

_MODEL = (
    FieldSpec("model", "Model", "The model to fine-tune: a Hub repository at a revision, or a folder on disk.",
        "model", "model", "basic", lambda r: None),
)

_DATA = (
    FieldSpec("datasets", "Datasets", "Files or folders with the rows to learn from.", "datasets", "data", "basic",
        lambda r: None),
    FieldSpec("evaluation_datasets", "Evaluation datasets",
        "Rows to evaluate on. Without any, a share of the datasets is held out.", "datasets", "data", "basic",
        lambda r: None),
    FieldSpec("evaluation_fraction", "Evaluation share",
        "Share of the rows held out for evaluation. 0 trains on everything and evaluates nothing.", "number", "data",
        "basic", lambda r: 0.05, minimum=0.0, maximum=0.5, shown_when=lambda r: not r.evaluation_datasets),
    FieldSpec("sequence_length", "Sequence length", "Tokens in one row. Longer documents are cut here.", "integer",
        "data", "basic", lambda r: 2048, unit="tokens", minimum=16, maximum=1_048_576, affects="schedule"),
    FieldSpec("packing", "Packing",
        "Put several short documents into one row; each sees only itself. Saves padding.", "switch", "data",
        "advanced", lambda r: True),
    FieldSpec("loss_on", "Train on", "Which tokens the model learns to say.", "choice", "data", "basic",
        lambda r: "assistant",
        choices=(("assistant", "Every assistant turn"), ("last_assistant", "The last assistant turn"),
            ("all", "Everything"))),
    FieldSpec("chat_template", "Chat template", "How a conversation becomes text.", "choice", "data", "advanced",
        lambda r: "model", choices=(("model", "The model's own"), ("chatml", "ChatML"), ("plain", "Plain text"))),
)

_METHOD = (
    FieldSpec("method", "Method",
        "LoRA trains small adapters beside frozen weights; full fine-tuning trains every weight.", "choice",
        "method", "basic", lambda r: "lora", choices=(("lora", "LoRA"), ("full", "Full"))),
    FieldSpec("precision", "Precision", "Number format of the weights and values in the computation.", "choice",
        "method", "basic", lambda r: "fp32", choices=(("fp32", "FP32"), ("bf16", "BF16")), affects="schedule"),
    FieldSpec("lora_rank", "LoRA rank", "Width of the adapters. Higher learns more and needs more memory.",
        "integer", "method", "basic", lambda r: 16, minimum=1, maximum=1024, shown_when=_is_lora,
        affects="schedule"),
    FieldSpec("lora_alpha", "LoRA alpha", "The adapters' output is scaled by alpha / rank.", "number", "method",
        "basic", lambda r: 32.0, minimum=0.0, maximum=65536.0, open_minimum=True, shown_when=_is_lora),
    FieldSpec("lora_dropout", "LoRA dropout", "Share of an adapter's inputs dropped at random while training.",
        "number", "method", "advanced", lambda r: 0.0, minimum=0.0, maximum=0.9, shown_when=_is_lora),
    FieldSpec("lora_targets", "Target modules", "The projections that get an adapter.", "choices", "method", "basic",
        lambda r: PROJECTIONS, choices=tuple((name, name) for name in PROJECTIONS), shown_when=_is_lora,
        affects="schedule"),
    FieldSpec("use_rslora", "Rank-stabilised LoRA", "Scale by alpha / √rank instead of alpha / rank.", "switch",
        "method", "advanced", lambda r: False, shown_when=_is_lora),
)

_BATCH = (
    FieldSpec("micro_batch_size", "Micro-batch size", "Rows computed at once.", "integer", "batch", "basic",
        lambda r: 1, unit="rows", minimum=1, maximum=4096, affects="schedule"),
    FieldSpec("gradient_accumulation_steps", "Gradient accumulation",
        "Micro-batches added up before one optimizer step.", "integer", "batch", "basic", lambda r: 8, unit="×",
        minimum=1, maximum=65536, affects="schedule"),
)

_SCHEDULE = (
    FieldSpec("epochs", "Epochs", "How often every row is seen.", "number", "schedule", "basic", lambda r: 1.0,
        minimum=0.0, maximum=10_000.0, open_minimum=True, affects="schedule"),
    FieldSpec("maximum_steps", "Maximum steps", "End after this many optimizer steps, even within an epoch.",
        "integer", "schedule", "advanced", lambda r: None, unit="steps", minimum=1, affects="schedule"),
    FieldSpec("learning_rate", "Learning rate", "Size of a step at its peak.", "number", "schedule", "basic",
        lambda r: 2e-4 if _is_lora(r) else 1e-5, minimum=0.0, maximum=10.0, open_minimum=True),
    FieldSpec("schedule", "Schedule", "How the learning rate moves over the run.", "choice", "schedule", "basic",
        lambda r: "cosine",
        choices=(("constant", "Constant"), ("linear", "Linear"), ("cosine", "Cosine"),
            ("wsd", "Warm-up, stable, decay"))),
    FieldSpec("warmup_ratio", "Warm-up", "Share of the steps over which the learning rate rises from zero.",
        "number", "schedule", "advanced", lambda r: 0.03, minimum=0.0, maximum=0.9),
    FieldSpec("decay_ratio", "Decay", "Share of the steps at the end over which the learning rate falls.", "number",
        "schedule", "advanced", lambda r: 0.2, minimum=0.0, maximum=1.0, shown_when=lambda r: r.schedule == "wsd"),
    FieldSpec("minimum_learning_rate_ratio", "Final learning rate", "Share of the peak at which the schedule ends.",
        "number", "schedule", "advanced", lambda r: 0.1, minimum=0.0, maximum=1.0, shown_when=_has_minimum),
)

_OPTIMIZER = (
    FieldSpec("optimizer", "Optimizer", "The rule that turns gradients into steps.", "choice", "optimizer",
        "advanced", lambda r: "adamw", choices=(("adamw", "AdamW"),)),
    FieldSpec("weight_decay", "Weight decay",
        "Pull of the trained weights towards zero. Norms and biases are exempt.", "number", "optimizer", "advanced",
        lambda r: 0.0 if _is_lora(r) else 0.01, minimum=0.0, maximum=1.0),
    FieldSpec("adam_beta1", "Adam beta 1", "Memory of the gradient's mean.", "number", "optimizer", "advanced",
        lambda r: 0.9, minimum=0.0, maximum=0.9999),
    FieldSpec("adam_beta2", "Adam beta 2", "Memory of the gradient's square.", "number", "optimizer", "advanced",
        lambda r: 0.95, minimum=0.0, maximum=0.99999),
    FieldSpec("adam_epsilon", "Adam epsilon", "Keeps the division from blowing up.", "number", "optimizer",
        "advanced", lambda r: 1e-8, minimum=0.0, maximum=0.1, open_minimum=True),
    FieldSpec("maximum_grad_norm", "Maximum gradient norm", "Gradients longer than this are scaled down to it.",
        "number", "optimizer", "advanced", lambda r: 1.0, minimum=0.0, maximum=1e6, open_minimum=True),
)

_EVALUATION = (
    FieldSpec("evaluate_every", "Evaluate every",
        "Below 1: a share of the run (0.05 is every 5 %). 1 and more: steps. 0: never.", "number", "evaluation",
        "basic", lambda r: 0.05, minimum=0.0, affects="schedule"),
    FieldSpec("sample_prompts", "Sample prompts", "Questions answered by the model at each evaluation.", "texts",
        "evaluation", "advanced", lambda r: ()),
    FieldSpec("sample_tokens", "Sample length", "Most tokens in a sampled answer.", "integer", "evaluation",
        "advanced", lambda r: 64, unit="tokens", minimum=1, maximum=4096, shown_when=_has_samples,
        affects="schedule"),
)

_CHECKPOINTS = (
    FieldSpec("checkpoint_every", "Checkpoint every",
        "Below 1: a share of the run (0.05 is every 5 %). 1 and more: steps. 0: only at the end.", "number",
        "checkpoints", "basic", lambda r: 0.05, minimum=0.0, affects="schedule"),
    FieldSpec("keep_last", "Keep last", "How many of the newest checkpoints stay.", "integer", "checkpoints",
        "advanced", lambda r: 2, unit="files", minimum=1, maximum=10_000, affects="record"),
    FieldSpec("keep_best", "Keep best", "How many of those with the lowest evaluation loss stay.", "integer",
        "checkpoints", "basic", lambda r: 1, unit="files", minimum=0, maximum=10_000, affects="record"),
)

_ENGINE = (
    FieldSpec("recompute", "Recompute", "Compute values again in the backward pass instead of keeping them.",
        "choice", "engine", "advanced", lambda r: "none", choices=(("none", "Nothing"), ("blocks", "Every block")),
        affects="schedule"),
    FieldSpec("threads", "CPU threads", "Threads of the engine's arithmetic. Empty: one a core.", "integer",
        "engine", "advanced", lambda r: None, minimum=1, maximum=1024),
)

# fmt: on
FIELDS: MappingProxyType[str, FieldSpec] = MappingProxyType(
    {
        spec.key: spec
        for spec in (
            *_RUN,
            *_MODEL,
            *_DATA,
            *_METHOD,
            *_BATCH,
            *_SCHEDULE,
            *_OPTIMIZER,
            *_EVALUATION,
            *_CHECKPOINTS,
            *_ENGINE,
        )
    }
)

GROUP_LABELS: MappingProxyType[str, str] = MappingProxyType(
    {
        "run": "Run",
        "model": "Model",
        "data": "Data",
        "method": "Method",
        "batch": "Batch",
        "schedule": "Schedule",
        "optimizer": "Optimizer",
        "evaluation": "Evaluation",
        "checkpoints": "Checkpoints",
        "engine": "Engine",
    }
)
