"""The oracle of golden tests: transformers, PEFT, autograd and torch.optim.AdamW, each document on its own row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cache

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.helpers.golden_cases import (
    ADAMW,
    ALPHA,
    MAXIMUM_GRAD_NORM,
    RANK,
    STEPS,
    TARGETS,
    Array,
    Case,
    MicroBatch,
    Outcome,
)


@cache
def expected(case: Case) -> Outcome:
    """Train by the book. Cached: recompute on and off are compared with the same oracle."""
    model, parameters = oracle_model(case)
    logits = torch.cat(list(document_logits(model, case.micro_batches[0]))).detach().numpy()
    loss_sum, _ = weighted_loss(model, case.micro_batches[0])
    loss_sum.backward()
    gradients = {name: p.grad.numpy().copy() for name, p in parameters.items() if p.grad is not None}
    model.zero_grad()
    trained = [p for p in parameters.values() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": ADAMW.weight_decay},
        {"params": [p for p in trained if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=case.learning_rate,
        betas=(ADAMW.beta1, ADAMW.beta2),
        eps=ADAMW.epsilon,
    )
    losses, norms = zip(*(_step(model, case, trained, optimizer) for _ in range(STEPS)), strict=True)
    weights = {name: p.detach().numpy() for name, p in parameters.items()}
    return Outcome(logits, gradients, torch.tensor(losses).numpy(), torch.tensor(norms).numpy(), weights)


def initial_weights(case: Case) -> dict[str, Array]:
    """What both sides start from, by canonical name: nothing is zero or one, not the biases, not LoRA's B."""
    return {name: p.detach().numpy().copy() for name, p in oracle_model(case)[1].items()}


def oracle_model(case: Case) -> tuple[PreTrainedModel, Mapping[str, torch.nn.Parameter]]:
    """The model with its parameters by canonical name; the same weights at every call."""
    config = AutoConfig.for_model(**case.config, attn_implementation="eager")
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    if case.method == "lora":
        with warnings.catch_warnings():
            # PEFT 0.21 asks transformers 5 for a property by its old name.
            warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
            model = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=list(TARGETS)))
    parameters = {_canonical(name): p for name, p in model.named_parameters()}
    with torch.no_grad():
        for number, (name, p) in enumerate(sorted(parameters.items())):
            drawn = torch.randn(p.shape, generator=torch.Generator().manual_seed(number)) * 0.1
            p.copy_(drawn + 1.0 if name.endswith("norm.weight") else drawn)
    return model, parameters


def document_logits(model: PreTrainedModel, batch: MicroBatch) -> Iterator[torch.Tensor]:
    """Each document alone in a row: padding at the end of a row is out of reach of a causal model's real tokens."""
    documents = batch.documents
    ids = torch.zeros(len(documents), max(len(d.ids) for d in documents), dtype=torch.long)
    for row, document in enumerate(documents):
        ids[row, : len(document.ids)] = torch.from_numpy(document.ids)
    logits = model(input_ids=ids, use_cache=False).logits
    for row, document in enumerate(documents):
        yield logits[row, : len(document.ids)]


def weighted_loss(model: PreTrainedModel, batch: MicroBatch) -> tuple[torch.Tensor, float]:
    """(Σ weight · nll, Σ weight) over the documents of a micro-batch"""
    loss_sum, weight_sum = torch.zeros(()), 0.0
    for logits, document in zip(document_logits(model, batch), batch.documents, strict=True):
        targets, weights = torch.from_numpy(document.targets).long(), torch.from_numpy(document.loss_weights)
        loss_sum = loss_sum + (torch.nn.functional.cross_entropy(logits, targets, reduction="none") * weights).sum()
        weight_sum += float(weights.sum())
    return loss_sum, weight_sum


def _step(
    model: PreTrainedModel, case: Case, trained: list[torch.nn.Parameter], optimizer: torch.optim.Optimizer
) -> tuple[float, float]:
    optimizer.zero_grad()
    loss = total = 0.0
    for batch in case.micro_batches:
        loss_sum, weight_sum = weighted_loss(model, batch)
        loss_sum.backward()
        loss, total = loss + float(loss_sum.detach()), total + weight_sum
    for p in trained:
        assert p.grad is not None
        p.grad /= total
    norm = torch.nn.utils.clip_grad_norm_(trained, MAXIMUM_GRAD_NORM)
    optimizer.step()
    return loss / total, float(norm)


def _canonical(name: str) -> str:
    return name.removeprefix("base_model.model.").replace(".default", "").replace(".base_layer", "")
