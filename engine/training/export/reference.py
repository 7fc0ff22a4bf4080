"""What the engine itself answers with a checkpoint: the measure that an export is held against.

Kept as one safetensors file: the logits after each prompt as tensors, everything else as JSON in its metadata.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from engine.training.executor import AnyArray
from engine.training.phases import Progress
from engine.training.safetensors_file import SafetensorsFile, TensorEntry, write_safetensors
from engine.training.served_model import Subject, open_answerer

BUILT_IN_PROMPTS = ("The capital of France is", "Write one sentence about the sea.", "What is 2 + 2?")
PROMPTS = 3
ANSWER_TOKENS = 16


class Answer(msgspec.Struct, frozen=True):
    """One prompt as the model saw it, its tokens, and the greedy answer.

    `gaps[i]`: by how much the token chosen at place i led over the second: below the tolerance it is a tie.
    """

    prompt: str
    text: str
    ids: list[int]
    answer: list[int]
    gaps: list[float]


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """`is_chat`: the prompts went through the chat template. `logit_limit` is the tolerance of the logits."""

    base: str
    checkpoint: str
    export_format: str
    method: str
    adapter_scale: float
    is_chat: bool
    logit_limit: float
    step: int
    answers: list[Answer]


def reference_prompts(sample_prompts: tuple[str, ...]) -> list[str]:
    """The recipe's own prompts first, filled up with ours."""
    return list(dict.fromkeys((*sample_prompts, *BUILT_IN_PROMPTS)))[:PROMPTS]


def answer_prompts(
    subject: Subject, prompts: list[str], progress: Progress
) -> tuple[list[Answer], list[AnyArray], bool]:
    """Answers, the logits f32[V] after each prompt, and whether the prompts are conversations."""
    answerer = open_answerer(subject, prompts, ANSWER_TOKENS, progress, _nothing)
    answers, logits = [], []
    for prompt in prompts:
        ids = answerer.prompter.ids(prompt)
        row = first = answerer.generator.first_logits(ids)
        chosen: list[int] = []
        gaps: list[float] = []
        for place in range(ANSWER_TOKENS):
            second, best = np.partition(row, -2)[-2:]
            chosen.append(int(np.argmax(row)))
            gaps.append(float(best - second))
            if len(ids) + place >= answerer.generator.context:
                break
            row = answerer.generator.next_logits(chosen[-1], len(ids) + place)
        answers.append(Answer(prompt, answerer.prompter.text(prompt), ids, chosen, gaps))
        logits.append(first)
    answerer.executor.close()
    return answers, logits, answerer.prompter.template is not None


def _nothing() -> None:
    """Nobody can stop an export but by ending it."""


def write_reference(path: Path, reference: Reference, logits: list[AnyArray]) -> None:
    """Store it beside the run's samples."""
    arrays = {f"logits.{index}": row for index, row in enumerate(logits)}
    entries = [TensorEntry(name, "F32", row.shape) for name, row in arrays.items()]
    metadata = {"reference": msgspec.json.encode(reference).decode()}
    write_safetensors(path, entries, lambda entry: arrays[entry.name], metadata)


def read_reference(path: Path) -> tuple[Reference, list[AnyArray]]:
    """Raises SurroundingsError or msgspec.DecodeError where the file is not one of ours."""
    file = SafetensorsFile(path)
    reference = msgspec.json.decode(file.metadata["reference"], type=Reference)
    return reference, [file.read(f"logits.{index}") for index in range(len(reference.answers))]
