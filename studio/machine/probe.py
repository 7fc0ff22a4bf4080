"""This machine as the planner sees it: cores and memory that this process may use, free disk, GPUs."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import psutil

from engine.planner.machine import MachineSpec
from studio.machine.gpus import Gpus, find_gpus
from studio.machine.limits import GroupLimits, group_limits


def probe(folder: Path, *, limits: GroupLimits | None = None, gpus: Gpus | None = None) -> MachineSpec:
    """The machine now. `folder`: where runs are kept, for the free disk. A few milliseconds; rates are not measured."""
    limits = group_limits() if limits is None else limits
    memory = psutil.virtual_memory()
    capacity, available = int(memory.total), int(memory.available)
    if limits.memory_bytes is not None and limits.memory_bytes < capacity:
        capacity = limits.memory_bytes
        available = min(available, max(0, capacity - limits.used_bytes))
    return MachineSpec(
        cores=_cores(limits),
        memory_bytes=capacity,
        other_bytes=capacity - available,
        disk_free_bytes=shutil.disk_usage(_existing(folder)).free,
        devices=(find_gpus() if gpus is None else gpus).devices,
        name=processor_name(),
    )


def processor_name() -> str:
    """What the CPU calls itself."""
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores(limits: GroupLimits) -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, int(limits.cores) if limits.cores is not None else allowed))


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
