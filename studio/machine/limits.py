"""What the control groups of this process allow it, which may be far less than what the machine has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class GroupLimits:
    """`memory_bytes` and `cores`: None where nothing limits them. `used_bytes` counts what cannot be given back."""

    memory_bytes: int | None = None
    used_bytes: int = 0
    cores: float | None = None


def group_limits(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> GroupLimits:
    """The tightest limits of this process's group and all groups around it (version 2, and version 1's memory)."""
    memory: int | None = None
    used, cores = 0, None
    for folder in _groups(root, membership):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        if limit is not None and limit < 2**60 and (memory is None or limit < memory):
            memory, used = limit, _used(folder)
        quota = _cores(folder / "cpu.max")
        if quota is not None and (cores is None or quota < cores):
            cores = quota
    return GroupLimits(memory, used, cores)


def kills_for_memory(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> int:
    """How many processes the kernel has ended for want of memory in our control group so far (version 2; else 0)."""
    return max((_events(folder).get("oom_kill", 0) for folder in _groups(root, membership)), default=0)


def _events(folder: Path) -> dict[str, int]:
    try:
        pairs = [line.split() for line in (folder / "memory.events").read_text().splitlines()]
        return {name: int(number) for name, number in pairs}
    except (OSError, ValueError):
        return {}


def _groups(root: Path, membership: Path) -> list[Path]:
    """Our group and those around it. In a container the root itself is the innermost that can be seen."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    legacy = next((line.split(":", 2)[2] for line in lines if ":memory:" in line), None)
    places = [root, root / "memory"]
    for base, path in ((root, own), (root / "memory", legacy)):
        if path is not None and ".." not in path:
            inner = base / path.strip("/")
            places += [inner, *(parent for parent in inner.parents if parent.is_relative_to(base))]
    return [place for place in dict.fromkeys(places) if place.is_dir()]


def _used(folder: Path) -> int:
    current = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
    return max(0, current - _reclaimable(folder / "memory.stat"))


def _reclaimable(path: Path) -> int:
    """File pages that the kernel drops when memory is wanted."""
    try:
        entries = dict(line.split() for line in path.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(entries.get("inactive_file", entries.get("total_inactive_file", 0)))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # absent, or "max"
        return None


def _cores(path: Path) -> float | None:
    try:
        quota, period = path.read_text().split()
        return max(1.0, math.floor(int(quota) / int(period) * 10) / 10)
    except (OSError, ValueError):
        return None
