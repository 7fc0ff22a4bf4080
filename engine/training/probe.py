"""`engine probe`: how fast this machine multiplies and moves memory, measured in about two seconds."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path

import msgspec
import psutil
import torch

from engine.planner.machine import MachineSpec
from engine.training.memory import available_bytes
from engine.training.outcome import ExitCode
from engine.training.served_model import usable_cores

MATRIX = 1024
COPY_BYTES = 256 << 20
SECONDS = 0.7


def print_probe() -> ExitCode:
    """Print a `MachineSpec` as one JSON line."""
    total = int(psutil.virtual_memory().total)
    spec = MachineSpec(
        cores=usable_cores(),
        memory_bytes=total,
        other_bytes=max(0, total - available_bytes()),
        disk_free_bytes=psutil.disk_usage(str(Path.cwd())).free,
        matmul_flops=matmul_flops(),
        memory_bandwidth=memory_bandwidth(),
        measured=True,
        name=platform.processor() or platform.machine() or os.name,
    )
    sys.stdout.buffer.write(msgspec.json.encode(spec) + b"\n")
    sys.stdout.flush()
    return ExitCode.DONE


def matmul_flops() -> float:
    """Sustained float32 FLOP/s of square products on all usable cores."""
    torch.set_num_threads(usable_cores())
    left, right = torch.ones(MATRIX, MATRIX), torch.ones(MATRIX, MATRIX)
    out = torch.empty(MATRIX, MATRIX)
    torch.mm(left, right, out=out)
    began, count = time.monotonic(), 0
    while time.monotonic() - began < SECONDS:
        torch.mm(left, right, out=out)
        count += 1
    return 2 * MATRIX**3 * count / (time.monotonic() - began)


def memory_bandwidth() -> float:
    """Bytes a second read and written by a large copy."""
    source = torch.ones(COPY_BYTES // 4)
    target = torch.empty_like(source)
    target.copy_(source)
    began, count = time.monotonic(), 0
    while time.monotonic() - began < SECONDS:
        target.copy_(source)
        count += 1
    return 2 * COPY_BYTES * count / (time.monotonic() - began)
