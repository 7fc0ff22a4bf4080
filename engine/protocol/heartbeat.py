"""`heartbeat.json`: which process on which machine works on a run. The lock says if it lives; this says who it is."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import msgspec
import psutil

from engine.protocol.codec import VERSION
from engine.protocol.files import write_atomically


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """`start_ticks` is the process's raw start time in clock ticks after boot (wall-clock start times move)."""

    host: str
    boot_id: str
    pid: int
    start_ticks: int
    attempt: int
    step: int
    time_utc: str
    version: int = VERSION


def boot_id() -> str:
    """Changes at every boot. Linux: the kernel's; elsewhere the boot time in seconds."""
    path = Path("/proc/sys/kernel/random/boot_id")
    if path.exists():
        return path.read_text().strip()
    return str(int(psutil.boot_time()))


def start_ticks(pid: int) -> int:
    """Raw start ticks of a process, 0 if it is gone. Linux: field 22 of /proc/PID/stat; elsewhere centiseconds."""
    stat = Path(f"/proc/{pid}/stat")
    if os.name == "posix" and stat.exists():
        try:
            return int(stat.read_bytes().rpartition(b")")[2].split()[19])
        except (OSError, ValueError, IndexError):
            return 0
    try:
        return int(psutil.Process(pid).create_time() * 100)
    except psutil.Error:
        return 0


def host() -> str:
    return platform.node()


def write_heartbeat(path: Path, beat: Heartbeat) -> None:
    write_atomically(path, msgspec.json.encode(beat))


def read_heartbeat(path: Path) -> Heartbeat | None:
    """None where there is none yet, or it is not readable as one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Heartbeat)
    except (OSError, msgspec.DecodeError):
        return None
