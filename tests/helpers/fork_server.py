"""Many real engine processes without paying for the imports each time: a warm process that forks one after another.

    python -m tests.helpers.fork_server   reads JSON lines {"arguments": [as for engine_faults], "kill_after": seconds}
    on standard input; for each forks an engine and answers {"code", "calls", "seconds"} when it has ended

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
from typing import TypedDict

import engine.training.prepare  # noqa: F401  # everything that is slow to import, for the forks
from tests.helpers.engine_faults import run_faulty


class Request(TypedDict):
    """One engine: its arguments, and after how many seconds it is killed (None: not at all)."""

    arguments: list[str]
    kill_after: float | None


class Answer(TypedDict):
    """How it ended."""

    code: int
    calls: int
    seconds: float


def _be_the_engine(arguments: list[str], counter: int) -> None:
    """Never returns."""
    run = Path(arguments[arguments.index("--run") + 1])
    log = os.open(run / "engine.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code, calls = run_faulty(arguments)
    os.write(counter, str(calls).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve(request: Request) -> Answer:
    """Fork an engine, perhaps kill it after a while, and wait for its end."""
    reader, writer = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            _be_the_engine(request["arguments"], writer)
        finally:
            os._exit(99)
    os.close(writer)
    if request["kill_after"] is not None:
        time.sleep(request["kill_after"])
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    calls = os.read(reader, 32)
    os.close(reader)
    code = os.waitstatus_to_exitcode(status)
    return Answer(code=code, calls=int(calls or b"0"), seconds=time.monotonic() - began)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)
