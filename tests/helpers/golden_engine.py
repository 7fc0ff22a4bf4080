"""The engine's side of golden tests: config.json → graphs → schedule → layout → reference executor, nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.graph.ops.step import Limit, Metric
from engine.graph.options import Recompute
from engine.graph.programs import build_schedule
from engine.graph.schedule import Schedule
from engine.models.registry import build_model
from engine.planner.layout import lay_out
from engine.runtime.executor import ReferenceExecutor
from tests.helpers.golden_cases import MAXIMUM_GRAD_NORM, STEPS, Array, Case, Outcome


class Engine:
    """A schedule with its executor, out of a poisoned arena, started from given weights."""

    def __init__(self, case: Case, weights: Mapping[str, Array], recompute: Recompute = Recompute.OFF) -> None:
        self.case = case
        self.schedule: Schedule = build_schedule(build_model(case.config), case.options(recompute))
        self.layout = lay_out(self.schedule)
        self.executor = ReferenceExecutor(
            self.schedule, self.layout.offsets, self.layout.arena_bytes, threads=1, poison=True
        )
        for slots in self.schedule.parameters:
            for copy in {slots.weight, slots.master} - {None}:
                self.executor.write(copy, weights[slots.name])
            for moment in (slots.first_moment, slots.second_moment):
                if moment is not None:
                    self.executor.write(moment, np.zeros_like(weights[slots.name]))
        self.executor.write("state/optimizer_step", np.zeros(1, np.int64))

    def feed(self, micro_batch: int, step: int = 0) -> None:
        """Write the inputs of one micro-batch."""
        inputs = self.case.micro_batches[micro_batch].inputs(self.case.max_documents)
        for name, array in inputs.items():
            self.executor.write(name, array)
        self.executor.write("input/step_state", np.array([1, step, micro_batch, 0]))

    def gradients(self) -> dict[str, Array]:
        """Of the first micro-batch's loss sum, by canonical name; uses of a tied parameter added up."""
        self.feed(0)
        self.executor.run("train_micro")
        trained = (slots for slots in self.schedule.parameters if slots.is_trainable)
        return {slots.name: sum(self.executor.read(name) for name in slots.gradients) for slots in trained}

    def logits(self) -> Array:
        """Of the first micro-batch's documents, out of the evaluation program: the head's input times its weight."""
        self.feed(0)
        for traced in self.executor.trace("evaluate"):
            if traced.instruction.op == "head_loss_forward":
                break
            last = traced
        (head,) = (i for i in self.schedule.programs["evaluate"].instructions if i.op == "head_loss_forward")
        logits = last.outputs[head.inputs[0]] @ self.executor.read(head.inputs[1]).T
        offsets = self.executor.read("input/documents")
        rows = len(self.case.micro_batches[0].rows)
        real = np.ones(len(logits), bool)
        for row in range(rows):
            padding = (row + 1) * (self.case.max_documents + 1) - 1
            real[offsets[padding] : offsets[padding + 1]] = False
        return logits[real]

    def step(self, number: int) -> dict[Metric, float]:
        """One optimizer step over all micro-batches; its metrics."""
        for micro_batch in range(len(self.case.micro_batches)):
            self.feed(micro_batch, number)
            self.executor.run("train_micro")
        limits = np.full(len(Limit), np.inf, np.float32)
        limits[Limit.LEARNING_RATE] = self.case.learning_rate
        limits[Limit.MAXIMUM_GRAD_NORM] = MAXIMUM_GRAD_NORM
        self.executor.write("input/limits", limits)
        self.executor.run("optimizer")
        return dict(zip(Metric, self.executor.read("state/metrics").tolist(), strict=True))

    def generate_logits(self, tokens: Array, prompt: int) -> Array:
        """[len(tokens) − prompt + 1, V]: after the prompt, fed in chunks, and after each further token, one by one."""
        chunk = self.case.options(Recompute.OFF).prefill_chunk
        rows = []
        for start in range(0, prompt, chunk):
            piece = tokens[start : min(start + chunk, prompt)]
            padded = np.zeros(chunk, np.int32)
            padded[: len(piece)] = piece
            self._write_all(prefill_ids=padded, prefill_positions=np.arange(start, start + chunk, dtype=np.int32))
            self._write_all(cache_length=np.array([start]), last_row=np.array([len(piece) - 1]))
            self.executor.run("prefill")
        rows.append(self.executor.read("output/logits")[0])
        for position in range(prompt, len(tokens)):
            at = np.array([position])
            self._write_all(decode_ids=tokens[position : position + 1], decode_positions=at, cache_length=at)
            self.executor.run("decode")
            rows.append(self.executor.read("output/logits")[0])
        return np.stack(rows)

    def _write_all(self, **inputs: Array) -> None:
        for name, array in inputs.items():
            self.executor.write(f"input/{name}", array.astype(np.int32))

    def weights(self) -> dict[str, Array]:
        return {slots.name: self.executor.read(slots.weight) for slots in self.schedule.parameters}

    def outcome(self) -> Outcome:
        """Everything an oracle reports, in the same order of events."""
        logits, gradients = self.logits(), self.gradients()
        metrics = [self.step(number) for number in range(STEPS)]
        losses = np.array([each[Metric.LOSS] for each in metrics])
        norms = np.array([each[Metric.GRAD_NORM] for each in metrics])
        return Outcome(logits, gradients, losses, norms, self.weights())
