"""What the planner knows of a machine: plain numbers, measured or described by hand. No device is touched here."""

from __future__ import annotations

import msgspec

CPU_FLOPS_PER_CORE = 30e9
"""Assumed sustained fp32 matmul rate of one core where nothing was measured (an AVX2 core, a third of its peak)."""

HOST_BANDWIDTH = 10e9
"""Assumed memory bandwidth of a host where nothing was measured, bytes a second."""


class DeviceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. Rates in FLOP/s by dtype name, bandwidths in bytes a second."""

    name: str
    capacity_bytes: int
    other_bytes: int = 0
    flops: dict[str, float] = {}
    memory_bandwidth: float = 0.0
    architecture: str = ""


class MachineSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A machine. `memory_bytes` respects cgroup limits; `other_bytes` is what other programs use of it.

    `matmul_flops` and `memory_bandwidth` are measured (`engine probe`) where `measured` is true, assumed otherwise.
    """

    cores: int
    memory_bytes: int
    other_bytes: int
    disk_free_bytes: int = 0
    devices: tuple[DeviceSpec, ...] = ()
    matmul_flops: float = 0.0
    memory_bandwidth: float = 0.0
    measured: bool = False
    name: str = ""

    def flops(self) -> float:
        """Sustained fp32 FLOP/s of the CPU: measured, or the assumption a core."""
        return self.matmul_flops or CPU_FLOPS_PER_CORE * self.cores

    def bandwidth(self) -> float:
        return self.memory_bandwidth or HOST_BANDWIDTH
