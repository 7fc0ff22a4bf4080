"""The end of a log, read from the back: an engine may have written many megabytes that nobody wants in memory."""

from __future__ import annotations

from pathlib import Path


def last_lines(path: Path, count: int = 20, most_bytes: int = 64 * 1024) -> list[str]:
    """Up to `count` last non-empty lines out of the last `most_bytes`; bytes that are not UTF-8 are shown as such.

    A missing file has no lines. A first line that the limit cuts is left out, unless it is all there is.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - most_bytes)
            file.seek(start)
            raw = file.read(most_bytes)
    except FileNotFoundError:
        return []
    lines = raw.decode("utf-8", "backslashreplace").splitlines()
    if start and len(lines) > 1:
        lines = lines[1:]
    # A progress bar rewrites its line with carriage returns, which splitlines has already taken apart.
    return [line.rstrip() for line in lines if line.strip()][-count:]
