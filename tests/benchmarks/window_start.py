"""How soon the window is there and what it keeps: seconds to the first paint and resident memory, warm caches.

    python -m tests.benchmarks.window_start [times]

Each start is a process of its own on an empty home, offscreen; the first warms the caches and is not counted. The time
runs from the start of the process, so Python and its imports are in it. Memory is read after the first paint.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRST_PAINT_SECONDS, RESIDENT_BYTES = 1.0, 200 << 20
PATIENCE_SECONDS = 30.0


def start(folder: Path) -> dict[str, float]:
    """Start the window, wait for its report, end it. Raises TimeoutError."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.helpers.watched_window", str(report), "--home", str(folder / "home")]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while not report.exists():
            if time.monotonic() > deadline or process.poll() is not None:
                raise TimeoutError(f"The window did not paint within {PATIENCE_SECONDS:.0f} s.")
            time.sleep(0.02)
        content: dict[str, float] = json.loads(report.read_text())
        return content
    finally:
        process.kill()
        process.wait()


def main() -> int:
    """Print both numbers beside what is promised. Exits 1 where a median breaks its promise."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="anneal-window-start-") as name:
        reports = [start(Path(name)) for _ in range(times + 1)][1:]
    seconds = statistics.median(report["first_paint_seconds"] for report in reports)
    resident = statistics.median(report["resident_bytes"] for report in reports)
    print(f"first paint  {seconds:6.2f} s    promised {FIRST_PAINT_SECONDS:.2f} s")
    print(f"resident     {resident / (1 << 20):6.0f} MiB  promised {RESIDENT_BYTES >> 20} MiB")
    return 0 if seconds < FIRST_PAINT_SECONDS and resident < RESIDENT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
