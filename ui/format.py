"""The one place that turns a quantity into words: thousands, units, signs, times.

Memory is in GiB, disk and downloads in GB. "~" marks an estimate, "≈" a closed-form figure while the plan is searched.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, tzinfo

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
MINUS = "−"
DASH = "–"


def number(value: float, digits: int = 0) -> str:
    """`1386` → "1,386"; a negative number gets a true minus sign."""
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else f"{MINUS if value < 0 else ''}∞"
    return f"{value:,.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 0) -> str:
    """A difference, always with its sign: "+0.014", "−85"; zero as "±0"."""
    text = number(abs(value), digits)
    if float(text.replace(",", "")) == 0:
        return f"±{text}"
    return f"{'+' if value > 0 else MINUS}{text}"


def memory(size: float, digits: int = 1) -> str:
    """Bytes of RAM or GPU memory: "44.2 GiB"; below a hundredth of that, MiB or KiB."""
    if abs(size) >= GIB / 10 or size == 0:
        return f"{number(size / GIB, digits)} GiB"
    if abs(size) >= MIB / 10:
        return f"{number(size / MIB, 0 if abs(size) >= 10 * MIB else 1)} MiB"
    return f"{number(size / KIB)} KiB"


def memory_of(used: float, total: float, digits: int = 1) -> str:
    """ "44.2 of 48.0 GiB"."""
    return f"{number(used / GIB, digits)} of {number(total / GIB, digits)} GiB"


def disk(size: float) -> str:
    """Bytes on disk or in a download: "1.42 TB", "65.5 GB", "93 MB", "0.9 kB"."""
    for unit, factor, digits in (("TB", 1e12, 2), ("GB", 1e9, 1), ("MB", 1e6, 1), ("kB", 1e3, 1)):
        if abs(size) >= factor or (unit == "kB" and abs(size) >= 100):
            value = size / factor
            return f"{number(value, 0 if value >= 100 or (unit == 'MB' and value >= 20) else digits)} {unit}"
    return f"{number(size)} bytes"


def both_sizes(size: float) -> str:
    """For tooltips: "65.5 GB (61.0 GiB)"."""
    return f"{disk(size)} ({memory(size)})"


def rate(bytes_per_second: float) -> str:
    """A transfer rate: "112 MB/s", "24.5 GB/s"."""
    return f"{disk(bytes_per_second)}/s"


def duration(seconds: float) -> str:
    """ "0.4 ms", "21 ms", "0.21 s", "37.1 s", "3 min 37 s", "5 h 31 min", "2 d 4 h"."""
    if not math.isfinite(seconds):
        return DASH
    if seconds < 0:
        return f"{MINUS}{duration(-seconds)}"
    if 0 < seconds < 0.0995:
        return f"{seconds * 1000:.{0 if seconds >= 0.00995 else 1}f} ms"
    if seconds < 59.95:
        return f"{seconds:.2f} s" if 0 < seconds < 1 else f"{seconds:.1f} s"
    whole = round(seconds)
    minutes, hours = whole // 60, round(seconds / 60) // 60
    if whole < 3600:
        return f"{minutes} min {whole % 60} s" if whole % 60 else f"{minutes} min"
    if hours < 48:
        return f"{hours} h {round(seconds / 60) % 60} min"
    return f"{number(hours // 24)} d {hours % 24} h"


def about(seconds: float) -> str:
    """A remaining time, coarse on purpose: "about 4 s", "about 2 min", "2 h 10 min"."""
    if seconds < 90:
        return f"about {round(seconds)} s"
    return f"about {round(seconds / 60)} min" if seconds < 3600 else duration(seconds)


def percent(fraction: float, digits: int = 0) -> str:
    """`0.08` → "8 %"."""
    return f"{number(fraction * 100, digits)} %"


def learning_rate(value: float) -> str:
    """ "1e-4", "2.1e-5"; zero as "0"."""
    if value == 0 or not math.isfinite(value):
        return number(value)
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def loss(value: float) -> str:
    """A loss with three decimals: "0.829"."""
    return number(value, 3)


def tokens_per_second(value: float) -> str:
    """ "883 tokens/s"; one decimal below 100."""
    return f"{number(value, 0 if value >= 100 else 1)} tokens/s"


def compact(value: float) -> str:
    """Counts too long to read: "8.45 M", "148 k", "32.8 B"; below 10,000 in full."""
    for unit, factor in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor and abs(value) >= 10_000:
            scaled = value / factor
            digits = 0 if abs(scaled) >= 100 else 2 if abs(scaled) < 10 and unit == "M" else 1
            return f"{number(scaled, digits)} {unit}"
    return number(value)


def general(value: float) -> str:
    """A setting's number as a person would write it: "0.95", "1e-8", "2,048"."""
    if value == int(value) and abs(value) < 1e15:
        return number(value)
    return learning_rate(value) if abs(value) < 1e-3 else f"{value:.6g}".replace("-", MINUS)


def estimated(text: str) -> str:
    """Mark as estimated: "~65 GB"."""
    return f"~{text}"


def closed_form(text: str) -> str:
    """Mark as a closed-form figure that the searched plan will replace: "≈ 37.1 s"."""
    return f"≈ {text}"


def split_unit(text: str) -> tuple[str, str]:
    """("37.1", "s") of "37.1 s", for figures whose unit is set smaller; ("5 h 31", "min") of "5 h 31 min"."""
    value, _, unit = text.rpartition(" ")
    return (value, unit) if value else (unit, "")


def local(time_utc: str | datetime, zone: tzinfo | None = None) -> datetime:
    """A stored UTC time (ISO 8601, or a datetime) in local time. Raises ValueError for text that is no time."""
    moment = time_utc if isinstance(time_utc, datetime) else datetime.fromisoformat(time_utc)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(zone)


def clock(time_utc: str | datetime, zone: tzinfo | None = None, seconds: bool = False) -> str:
    """ "16:42" in local time."""
    return local(time_utc, zone).strftime("%H:%M:%S" if seconds else "%H:%M")


def date_time(time_utc: str | datetime, zone: tzinfo | None = None) -> str:
    """ "2026-12-01 16:42" in local time."""
    return local(time_utc, zone).strftime("%Y-%m-%d %H:%M")
