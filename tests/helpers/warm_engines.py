"""The fixture side of `fork_server`: engines, one after another, out of a warm process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from engine.protocol.folder import RunFolder
from tests.helpers.fork_server import Answer, Request
from tests.helpers.tiny_runs import ROOT, engine_environment


class Engines:
    """Runs engines to their end."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=engine_environment(),
            cwd=ROOT,
        )

    def run(self, folder: RunFolder, *faults: str | int, kill_after: float | None = None) -> Answer:
        """One engine on `folder` with the faults of `engine_faults`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        arguments = ["--run", str(folder.path), *map(str, faults)]
        request = Request(arguments=arguments, kill_after=kill_after)
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer: Answer = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=20)


@contextmanager
def warm_engines() -> Iterator[Engines]:
    """Engines for a module of tests."""
    found = Engines()
    try:
        yield found
    finally:
        found.close()
