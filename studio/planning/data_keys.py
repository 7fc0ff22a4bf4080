"""Which settings the counting of data depends on."""

from __future__ import annotations

DATA_KEYS = frozenset(
    {
        "seed", "datasets", "evaluation_datasets", "evaluation_fraction", "sequence_length", "packing", "loss_on",
        "chat_template", "micro_batch_size",
    }
)  # fmt: skip
"""Recipe keys that change what is counted, besides the model, whose tokenizer counts."""
