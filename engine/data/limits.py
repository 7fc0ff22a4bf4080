"""Bounds on what a stranger's chat template may cost: processor time of one rendering, memory of the process.

Both work only where the system has them (POSIX). The rest of the defence is `sandbox`, which refuses single
operations that never end, and that the worker can be killed at any time.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from engine.protocol.errors import SurroundingsError

RENDER_SECONDS = 2.0


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise SurroundingsError(
        "template_too_slow",
        f"The chat template did not finish within {RENDER_SECONDS:g} seconds of processor time.",
        "Do not use this model's template: choose another chat template or another model.",
        seconds=RENDER_SECONDS,
    )


@contextlib.contextmanager
def processor_time_limit(seconds: float = RENDER_SECONDS) -> Iterator[None]:
    """Raise SurroundingsError("template_too_slow") inside the block once it has used so much processor time.

    Only in a process's main thread, where Python delivers signals; elsewhere the block runs unlimited.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def limit_memory(limit_bytes: int) -> bool:
    """Let the process hold at most so much private memory: MemoryError beyond it. False: no limit here."""
    if sys.platform == "win32":
        return False
    import resource

    # On Linux the data limit counts what is really writable, not the address space that libraries reserve.
    which = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        limit_bytes = min(limit_bytes, hard)
    resource.setrlimit(which, (limit_bytes, hard))
    return True
