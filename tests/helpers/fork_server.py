"""Many real engine processes without paying for the imports each time: a warm process that forks one after another.

    python tests/helpers/fork_server.py   reads JSON lines {"run", "kill_at", "kill_after", "stop_after"} on standard
    input; for each forks an engine on that run and answers {"code", "calls", "seconds"} when it has ended

`code` is the exit code, −9 for a kill; `calls` counts the disk's writes, syncs and renames of an engine that ended by
itself. POSIX only.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import engine.training.prepare  # everything that is slow to import  # noqa: F401  # imported for the forks
from engine.protocol.files import use_disk
from engine.training.train_run import train_run
from tests.helpers.engine_faults import KillingDisk, stop_after


def engine_in_child(request: dict[str, object], counter: int) -> None:
    """Be the engine; never returns."""
    run = Path(str(request["run"]))
    log = os.open(run / "engine.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    disk = KillingDisk(int(str(request.get("kill_at") or 0)))
    if request.get("stop_after"):
        stop_after(int(str(request["stop_after"])))
    with use_disk(disk):
        code = train_run(run)
    os.write(counter, str(disk.calls).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve(request: dict[str, object]) -> dict[str, object]:
    """Fork an engine, perhaps kill it after a while, and wait for its end."""
    reader, writer = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            engine_in_child(request, writer)
        finally:
            os._exit(99)
    os.close(writer)
    after = request.get("kill_after")
    if after is not None:
        time.sleep(float(str(after)))
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    calls = os.read(reader, 32)
    os.close(reader)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "calls": int(calls or b"0"),
        "seconds": time.monotonic() - began,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)
