"""The real engine, with something going wrong inside: run as a script in place of `python -m engine train`.

python tests/helpers/engine_faults.py [--fault ARGUMENT …] --run DIR
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from engine.data.batches import MicroBatch
from engine.protocol.files import Disk, use_disk
from engine.training.executor import Executor
from engine.training.loop import Trainer
from engine.training.micro_batches import MicroBatches
from engine.training.optimizer_step import OptimizerSteps, StepResult
from engine.training.train_run import train_run
from engine.training.watch import Watch
from tests.helpers.faulty_disk import FaultyDisk

NORM = "weight/model.norm.weight"
SCRIPT = str(Path(__file__).resolve())


class FullDisk(Disk):
    """No space for tensors: writing a safetensors file fails half-way."""

    def write(self, file: IO[bytes], data: bytes | memoryview) -> None:
        if str(file.name).endswith(".safetensors") and len(data) > 1000:
            super().write(file, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file.name))
        super().write(file, data)


def stop_after(step: int) -> None:
    """Behave as if somebody had asked to stop when `step` was done."""
    ordinary = Trainer._at_boundary

    def stopping(self: Trainer) -> None:
        ordinary(self)
        if self.progress.step == step:
            self.watch.controls.stop_reason = "asked"

    Trainer._at_boundary = stopping  # type: ignore[method-assign]  # the point of this script


def poison(first: int, last: int) -> None:
    """Make the final norm's weight NaN during steps `first` … `last`, so that loss and gradients are none."""
    run = OptimizerSteps.run

    def poisoned(self: OptimizerSteps, step: int, first_micro_batch: int) -> StepResult:
        if not first <= step <= last:
            return run(self, step, first_micro_batch)
        sound = self.executor.read(NORM)
        self.executor.write(NORM, np.full_like(sound, np.nan))
        result = run(self, step, first_micro_batch)
        self.executor.write(NORM, sound)
        return result

    OptimizerSteps.run = poisoned  # type: ignore[method-assign]  # the point of this script


def chatter(megabytes: int) -> None:
    """Write so much to the log with every micro-batch, inside the measured time of a step."""
    upload = MicroBatches.upload

    def talking(self: MicroBatches, executor: Executor, number: int) -> MicroBatch:
        for _ in range(megabytes):
            sys.stderr.write("x" * (1 << 20) + "\n")
        return upload(self, executor, number)

    MicroBatches.upload = talking  # type: ignore[method-assign]  # the point of this script


def exhaust_memory(step: int) -> None:
    """Run out of memory in `step`."""
    run = OptimizerSteps.run

    def hungry(self: OptimizerSteps, number: int, first_micro_batch: int) -> StepResult:
        if number == step:
            np.ones(1 << 60, np.uint8)
        return run(self, number, first_micro_batch)

    OptimizerSteps.run = hungry  # type: ignore[method-assign]  # the point of this script


def lose_patience_after(seconds: float) -> None:
    """End a pause after so long instead of ten minutes."""
    ordinary = Watch.wait_while_paused

    def impatient(self: Watch, save: Callable[[], None]) -> float:
        self.longest_pause_seconds = seconds
        return ordinary(self, save)

    Watch.wait_while_paused = impatient  # type: ignore[method-assign]  # the point of this script


def run_faulty(arguments: list[str]) -> tuple[int, int]:
    """The engine with the faults that the arguments name. Returns its exit code and the calls to the disk."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--kill-at-disk-call", type=int, default=0)
    parser.add_argument("--full-disk", action="store_true")
    parser.add_argument("--stop-after", type=int)
    parser.add_argument("--poison", type=int, nargs=2)
    parser.add_argument("--chatter-megabytes", type=int, default=0)
    parser.add_argument("--exhaust-memory-at", type=int)
    parser.add_argument("--longest-pause", type=float)
    given = parser.parse_args(arguments)
    if given.stop_after:
        stop_after(given.stop_after)
    if given.poison:
        poison(*given.poison)
    if given.chatter_megabytes:
        chatter(given.chatter_megabytes)
    if given.exhaust_memory_at:
        exhaust_memory(given.exhaust_memory_at)
    if given.longest_pause is not None:
        lose_patience_after(given.longest_pause)
    counter = FaultyDisk(given.kill_at_disk_call, lambda: os._exit(137))
    with use_disk(FullDisk() if given.full_disk else counter):
        return train_run(given.run), counter.calls


if __name__ == "__main__":
    sys.exit(run_faulty(sys.argv[1:])[0])
