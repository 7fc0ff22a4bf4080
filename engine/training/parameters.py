"""Parameters in and out of the arena: from a model folder, from a checkpoint, to a checkpoint.

Checkpoints do not know the placement: names are Hugging Face's (PEFT's for adapters), shapes are unfused, and what is
kept is the float32 master with its two moments.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.graph.rewrites.lora import ADAPTER_A, is_adapter
from engine.graph.schedule import ParameterSlots, Schedule
from engine.graph.types import DType
from engine.protocol.errors import Bug, SurroundingsError
from engine.runtime.philox import Stream, uniform
from engine.training.checkpoint import ADAPTER_FILE, PEFT_PREFIX, TensorFile
from engine.training.executor import Executor
from engine.training.model_folder import WEIGHTS_FILE
from engine.training.safetensors_file import Array, SafetensorsFile, TensorEntry, float32_to_bfloat16

OPTIMIZER_FILE = "optimizer.safetensors"
INITIALISATION_PURPOSE = 1
"""Purpose of the random stream that new adapters are drawn from."""

ByteProgress = Callable[[int, int], None]


def stored_name(name: str) -> str:
    """What a parameter is called in a checkpoint's file."""
    return PEFT_PREFIX + name if is_adapter(name) else name


def load_base(
    executor: Executor, schedule: Schedule, files: Mapping[str, SafetensorsFile], progress: ByteProgress
) -> None:
    """Stream the model's own weights into the arena; adapters are not among them.

    Raises SurroundingsError("weights_missing") or ("weights_shape") that names the tensor.
    """
    wanted = [slots for slots in schedule.parameters if not is_adapter(slots.name)]
    total = sum(schedule.tensors[slots.weight].bytes for slots in wanted)
    done = 0
    for slots in wanted:
        if slots.name not in files:
            raise SurroundingsError(
                "weights_missing", f"The model's files hold no {slots.name}.", "Download the model again."
            )
        file = files[slots.name]
        expected = schedule.tensors[slots.weight].shape
        if file.entries[slots.name].shape != expected:
            raise SurroundingsError(
                "weights_shape",
                f"{slots.name} has the shape {list(file.entries[slots.name].shape)}, expected {list(expected)}.",
                "The files do not belong to this config.json; download the model again.",
            )
        _write_stored(executor, schedule, slots, file, slots.name)
        done += schedule.tensors[slots.weight].bytes
        progress(done, total)


def _write_stored(
    executor: Executor, schedule: Schedule, slots: ParameterSlots, file: SafetensorsFile, name: str
) -> None:
    """One tensor into the weight (its own bits where the types agree) and into the master, where there is one."""
    is_bf16 = schedule.tensors[slots.weight].dtype is DType.BF16
    if is_bf16 and slots.master in (None, slots.weight) and file.entries[name].dtype == "BF16":
        executor.write(slots.weight, file.read(name))
        return
    write_values(executor, schedule, slots, file.read_float32(name))


def write_values(executor: Executor, schedule: Schedule, slots: ParameterSlots, values: NDArray[np.float32]) -> None:
    """Set a parameter from float32: the weight, rounded to its type, and its master."""
    is_bf16 = schedule.tensors[slots.weight].dtype is DType.BF16
    executor.write(slots.weight, float32_to_bfloat16(values) if is_bf16 else values)
    if slots.master is not None and slots.master != slots.weight:
        executor.write(slots.master, values)


def initialise_adapters(executor: Executor, schedule: Schedule, seed: int) -> None:
    """New adapters: A uniform in ±1/√in (Kaiming with a = √5, as PEFT does it), B zero, so that nothing changes yet.

    Each is drawn from a stream of its own, named by the parameter: one more target does not change the others.
    """
    for slots in schedule.parameters:
        if not is_adapter(slots.name):
            continue
        shape = schedule.tensors[slots.weight].shape
        values = np.zeros(shape, np.float32)
        if slots.name.endswith(ADAPTER_A):
            key = zlib.crc32(slots.name.encode())
            stream = Stream(seed, INITIALISATION_PURPOSE, micro_batch=key >> 16, layer=key & 0xFFFF)
            drawn = uniform(stream, values.size).reshape(shape)
            values = (drawn * np.float32(2.0) - np.float32(1.0)) / np.sqrt(np.float32(shape[1]))
        write_values(executor, schedule, slots, values.astype(np.float32))


def zero_moments(executor: Executor, schedule: Schedule) -> None:
    """A fresh optimizer."""
    for slots in _trainable(schedule):
        for name in _moments(slots):
            executor.write(name, np.zeros(schedule.tensors[name].shape, np.float32))


def weights_file_name(method: str) -> str:
    """The checkpoint's file of trained weights: the adapter alone, or the model."""
    return ADAPTER_FILE if method == "lora" else WEIGHTS_FILE


def trained_files(executor: Executor, schedule: Schedule, method: str) -> list[TensorFile]:
    """What a checkpoint holds: trained weights, and the optimizer's two moments laid out on the same shapes."""
    sources: dict[str, str] = {}
    weights: list[TensorEntry] = []
    moments: list[TensorEntry] = []
    for slots in _trainable(schedule):
        shape = schedule.tensors[slots.weight].shape
        name = stored_name(slots.name)
        sources[name] = _master(slots)
        weights.append(TensorEntry(name, "F32", shape))
        for kind, tensor in zip(("first_moment", "second_moment"), _moments(slots), strict=True):
            sources[f"{name}.{kind}"] = tensor
            moments.append(TensorEntry(f"{name}.{kind}", "F32", shape))

    def read(entry: TensorEntry) -> Array:
        return executor.read(sources[entry.name])

    return [
        TensorFile(weights_file_name(method), weights, read),
        TensorFile(OPTIMIZER_FILE, moments, read),
    ]


def load_trained(executor: Executor, schedule: Schedule, folder: Path, method: str) -> None:
    """Trained weights of a checkpoint (verified before) into the arena. Works without an optimizer."""
    file = SafetensorsFile(folder / weights_file_name(method))
    for slots in schedule.parameters:
        name = stored_name(slots.name)
        if slots.is_trainable or is_adapter(slots.name) or name in file.entries:
            write_values(executor, schedule, slots, file.read_float32(name))


def load_moments(executor: Executor, schedule: Schedule, folder: Path) -> None:
    """The optimizer's moments of a checkpoint into the arena."""
    file = SafetensorsFile(folder / OPTIMIZER_FILE)
    for slots in _trainable(schedule):
        for kind, tensor in zip(("first_moment", "second_moment"), _moments(slots), strict=True):
            executor.write(tensor, file.read_float32(f"{stored_name(slots.name)}.{kind}"))


def _trainable(schedule: Schedule) -> list[ParameterSlots]:
    return [slots for slots in schedule.parameters if slots.is_trainable]


def _master(slots: ParameterSlots) -> str:
    if slots.master is None:
        raise Bug("parameter_without_master", f"{slots.name} is trained but has no float32 master.")
    return slots.master


def _moments(slots: ParameterSlots) -> tuple[str, str]:
    if slots.first_moment is None or slots.second_moment is None:
        raise Bug("parameter_without_moments", f"{slots.name} is trained but has no optimizer state.")
    return slots.first_moment, slots.second_moment
