"""Bounds on what a stranger's chat template may cost: processor time of one rendering, memory of the process.

Both work only where the system has them (POSIX). The rest of the defence is that the worker can be killed at any time.
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
KILL_FACTOR = 5
"""A rendering that does not heed the first limit (one endless operation inside C) ends the worker then."""


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


@contextlib.contextmanager
def killed_when_stuck(seconds: float = RENDER_SECONDS * KILL_FACTOR) -> Iterator[None]:
    """End the whole process, by the kernel's hand, once the block has used so much processor time. For the worker."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the default action ends the process even inside C code
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


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
