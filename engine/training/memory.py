"""How much memory this process may still take, and how running out of it is named."""

from __future__ import annotations

from pathlib import Path

import psutil

from engine.protocol.errors import SurroundingsError

_CGROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int:
    """The smaller of what the machine and the control group still have (cgroup v2; page cache counts as free)."""
    free = int(psutil.virtual_memory().available)
    limit = _number(_CGROUP / "memory.max")
    used = _number(_CGROUP / "memory.current")
    if limit is None or used is None:
        return free
    return min(free, limit - used + _reclaimable_bytes())


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no cgroup v2, or the word "max"
        return None


def _reclaimable_bytes() -> int:
    try:
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def require_memory(needed_bytes: int) -> None:
    """Refuse before anything is loaded where `needed_bytes` are not to be had ("memory_too_small")."""
    free = available_bytes()
    if needed_bytes > free:
        raise SurroundingsError(
            "memory_too_small",
            f"The plan needs {needed_bytes:,} bytes of memory and {free:,} are free.",
            "Close other programs, or plan with a smaller micro-batch, sequence length or model.",
            needed_bytes=needed_bytes,
            free_bytes=free,
        )


def as_out_of_memory(error: BaseException) -> SurroundingsError | None:
    """The named error behind a MemoryError or the allocator's complaint; None for anything else."""
    text = str(error)
    if not isinstance(error, MemoryError) and "can't allocate memory" not in text and "out of memory" not in text:
        return None
    return SurroundingsError(
        "out_of_memory",
        "The machine ran out of memory.",
        "Close other programs, or plan with a smaller micro-batch, sequence length or model.",
        details=text[:500],
    )
