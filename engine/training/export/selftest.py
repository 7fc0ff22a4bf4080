"""`engine selftest`: loads an export as a user would, with transformers and peft, and compares it with the engine.

Runs in a process of its own, so that nothing of the engine's memory can stand in for what is on disk.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any  # Any: transformers' models and tokenizers carry no usable types

import numpy as np
import torch

from engine.protocol.events import ExportVerified
from engine.training.event_writer import EventWriter
from engine.training.executor import AnyArray
from engine.training.export.reference import Answer, Reference, read_reference
from engine.training.export.tensor_check import tensor_complaints
from engine.training.outcome import ExitCode, printing_events


def selftest_export(export: Path, reference_path: Path) -> ExitCode:
    """Print an `ExportVerified`. The exit code says whether it passed."""

    def work(events: EventWriter) -> ExitCode:
        reference, logits = read_reference(reference_path)
        verdict = verify(export, reference, logits)
        event = ExportVerified(
            **events.stamp(),
            format=reference.export_format,
            path=str(export),
            checkpoint_step=reference.step,
            passed=not verdict.reasons,
            largest_logit_difference=verdict.largest_difference,
            logit_limit=reference.logit_limit,
            prompts=len(reference.answers),
            equal_texts=verdict.equal_texts,
            reasons=verdict.reasons,
        )
        events.write(event)
        return ExitCode.DONE if event.passed else ExitCode.FAILED

    return printing_events(work)


class Verdict:
    """What was found, prompt by prompt."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.largest_difference: float | None = None
        self.equal_texts = 0

    def see_difference(self, difference: float) -> None:
        self.largest_difference = max(difference, self.largest_difference or 0.0)


def verify(export: Path, reference: Reference, logits: list[AnyArray]) -> Verdict:
    """Tensors, template and tokens, logits, greedy text. Every reason begins with the part that failed."""
    verdict = Verdict()
    verdict.reasons += tensor_complaints(export, reference)
    tokenizer, model = load(export, reference)
    if reference.export_format == "peft":
        verdict.reasons += _scale_complaints(model, reference)
    for answer, row in zip(reference.answers, logits, strict=True):
        verdict.reasons += _prompt_complaints(tokenizer, answer, is_chat=reference.is_chat)
        found, said = greedy(model, answer)
        difference = float(np.max(np.abs(found - row)))
        verdict.see_difference(difference)
        if not difference <= reference.logit_limit:
            verdict.reasons.append(f"logits: they differ by {difference:.3g} after {answer.prompt!r}")
        if said == answer.answer:
            verdict.equal_texts += 1
        elif not _is_tie(said, answer, reference.logit_limit):
            verdict.reasons.append(f"text: the answer to {answer.prompt!r} is another one")
    return verdict


def load(export: Path, reference: Reference) -> tuple[Any, Any]:  # Any: see the import
    """Tokenizer and float32 model as transformers and peft load them from disk; no code of a repository is run."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(export, local_files_only=True)
    source = reference.base if reference.export_format == "peft" else export
    model: Any  # Any: see the import
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, local_files_only=True)
    if reference.export_format == "peft":
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, str(export))
    return tokenizer, model.eval()


def _scale_complaints(model: Any, reference: Reference) -> list[str]:  # Any: see the import
    """What peft multiplies adapters by. In bf16 a wrong factor on a young adapter hides below the logits' rounding."""
    from peft.tuners.lora import LoraLayer

    layers = [module for module in model.modules() if isinstance(module, LoraLayer)]
    found = {scale for layer in layers for scale in layer.scaling.values()}
    if found and all(math.isclose(scale, reference.adapter_scale, rel_tol=1e-6) for scale in found):
        return []
    said = ", ".join(f"{scale:g}" for scale in sorted(found)) or "nothing"
    return [f"scale: adapters are multiplied by {said}, trained with {reference.adapter_scale:g}"]


def _prompt_complaints(tokenizer: Any, answer: Answer, *, is_chat: bool) -> list[str]:  # Any: see the import
    text = answer.text
    if is_chat:
        messages = [{"role": "user", "content": answer.prompt}]
        try:
            text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # a template is a stranger's program and may fail in any way
            return [f"template: it fails on {answer.prompt!r}: {error}"]
    if text != answer.text:
        return [f"template: it renders {answer.prompt!r} differently"]
    ids = tokenizer(text, add_special_tokens=not is_chat)["input_ids"]
    return [] if list(ids) == answer.ids else [f"tokens: {answer.prompt!r} becomes other tokens"]


@torch.no_grad()
def greedy(model: Any, answer: Answer) -> tuple[AnyArray, list[int]]:  # Any: see the import
    """Logits f32[V] after the reference's prompt, and the likeliest token at each place of the reference's answer.

    One pass over prompt and answer: as long as every choice agrees, the choices are the greedy text, and the first that
    does not is where the texts part.
    """
    rows = model(torch.tensor([answer.ids + answer.answer[:-1]])).logits[0, len(answer.ids) - 1 :].float()
    return rows[0].numpy(), torch.argmax(rows, dim=-1).tolist()


def _is_tie(said: list[int], answer: Answer, limit: float) -> bool:
    """Whether the first token that differs was decided by less than the tolerance on both sides."""
    place = next(i for i, (ours, theirs) in enumerate(zip(answer.answer, said, strict=True)) if ours != theirs)
    return answer.gaps[place] <= 2 * limit
