"""Whether there is a screen to draw on. Qt aborts the process where there is none, so we find out first and say so."""

from __future__ import annotations

import ctypes
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

_NEEDS_NOTHING = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")


def missing_display(environment: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """Why no window can be opened, in a sentence with a remedy; None where one can."""
    if not platform.startswith("linux"):
        return None
    chosen = environment.get("QT_QPA_PLATFORM", "").split(":")[0].split(";")[0]
    if chosen in _NEEDS_NOTHING:
        return None
    wayland, x11 = environment.get("WAYLAND_DISPLAY"), environment.get("DISPLAY")
    if wayland and chosen in ("", "wayland") and _wayland_answers(wayland, environment):
        return None
    if not x11:
        return (
            "There is no display to open a window on. Start Anneal Studio in a desktop session, or use the commands of "
            "`anneal` (see `anneal --help`)."
        )
    if not _x11_answers(x11):
        return f"The display {x11} does not answer. Check DISPLAY, or start Anneal Studio in a desktop session."
    if not _loads("libxcb-cursor.so.0"):
        return "Qt needs the library libxcb-cursor0 to open a window. Install it: sudo apt install libxcb-cursor0"
    return None


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _wayland_answers(name: str, environment: Mapping[str, str]) -> bool:
    path = Path(name) if name.startswith("/") else Path(environment.get("XDG_RUNTIME_DIR", "/nowhere")) / name
    return path.is_socket()


def _x11_answers(display: str) -> bool:
    host, _, rest = display.rpartition(":")
    number = rest.split(".")[0]
    if not number.isdigit():
        return False
    try:
        if host in ("", "unix"):
            return Path(f"/tmp/.X11-unix/X{number}").is_socket() or _abstract_answers(number)
        with socket.create_connection((host, 6000 + int(number)), timeout=2):
            return True
    except OSError:
        return False


def _abstract_answers(number: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        return probe.connect_ex(f"\0/tmp/.X11-unix/X{number}") == 0
