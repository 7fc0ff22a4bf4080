"""Numbers and times as the command line prints them. English only, like all of the command line."""

from __future__ import annotations

from datetime import datetime

GIB = 2**30


def gib(size: int | float) -> str:
    """Memory: `1.2 GiB`; below a tenth of a GiB in MiB."""
    return f"{size / GIB:.1f} GiB" if size >= GIB / 10 else f"{size / 2**20:.1f} MiB"


def gigabytes(size: int | float) -> str:
    """Disk and downloads: `1.2 GB`, `34 MB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def duration(seconds: float | None) -> str:
    """`8 s`, `2 min 5 s`, `3 h 20 min`; "" for None."""
    if seconds is None:
        return ""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def number(value: float | None, digits: int = 4) -> str:
    """A loss or the like; "–" where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def local_time(utc: str | None) -> str:
    """A stored UTC time in the zone of whoever reads it: `2026-12-01 11:02`."""
    if not utc:
        return "–"
    return datetime.fromisoformat(utc.replace("Z", "+00:00")).astimezone().strftime("%Y-%m-%d %H:%M")
