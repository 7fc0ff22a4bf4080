"""A real X server with a window manager for the tests that drive a real window, and xdotool to drive it with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def x_server(width: int = 1440, height: int = 900) -> Iterator[dict[str, str]]:
    """Start Xvfb and openbox; yield the environment in which a program finds them. Both end with the block."""
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    try:
        with os.fdopen(read) as chosen:
            number = chosen.readline().strip()
        if not number:
            raise RuntimeError(f"Xvfb did not start (status {server.wait(5)})")
        environment = {**os.environ, "DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
        environment.pop("WAYLAND_DISPLAY", None)
        manager = subprocess.Popen(
            ["openbox"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield environment
        finally:
            manager.terminate()
            manager.wait(10)
    finally:
        server.terminate()
        server.wait(10)


def xdotool(environment: dict[str, str], *arguments: str) -> str:
    """Run xdotool there and return what it printed. Raises CalledProcessError."""
    done = subprocess.run(
        ["xdotool", *arguments], env=environment, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout.strip()
