"""Is everything here that the app needs? Each check says what it found, what is needed, and what to do.

States: "good", "attention" (works, with less), "bad" (does not work), "unknown". The window words codes; the command
line prints `found`, `needed` and `remedy`.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Literal

import msgspec
import psutil

from engine.planner.machine import MachineSpec
from engine.protocol.errors import Argument
from studio.home import Home
from studio.machine.gpus import Gpus, find_gpus
from studio.machine.probe import probe
from studio.settings import Settings

State = Literal["good", "attention", "bad", "unknown"]
GIB = 2**30
_LEAST_MEMORY = 3 * GIB
_LEAST_DISK = 5 * 10**9


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the doctor. `remedy_code` is "" where nothing needs doing; `arguments` fill the window's words."""

    id: str
    label: str
    state: State
    found: str
    needed: str = ""
    remedy: str = ""
    remedy_code: str = ""
    arguments: dict[str, Argument] = {}


def examine(home: Home, environment: Mapping[str, str], *, hub_address: str | None = None) -> list[Check]:
    """Every check. Asks the network only where `hub_address` is given. A second at most without it, 5 s with it."""
    gpus = find_gpus()
    machine = probe(home.runs, gpus=gpus)
    checks = [
        _python(),
        _package("torch", "PyTorch", "bad", "Computes everything on a CPU."),
        _gpu(gpus),
        _pycuda(gpus),
        _memory(machine),
        _disk(machine),
        _home(home),
        _display(environment),
    ]
    if hub_address is not None:
        checks.append(_hub(hub_address))
    return checks


def hub_address(settings: Settings, environment: Mapping[str, str]) -> str:
    """Where the Hub is: Settings, else HF_ENDPOINT, else huggingface.co."""
    return settings.hub_endpoint or environment.get("HF_ENDPOINT") or "https://huggingface.co"


def versions() -> dict[str, str]:
    """Ours, Python's, the system's and those of the packages that matter, for reports. Nothing is imported."""
    names = ("torch", "transformers", "peft", "tokenizers", "safetensors", "huggingface-hub", "PySide6-Essentials")
    found = {name: _version(name) or "absent" for name in names}
    return {
        "anneal-studio": _version("anneal-studio") or "checkout",
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        **found,
    }


def _python() -> Check:
    good = (3, 11) <= sys.version_info[:2] < (3, 14)
    return Check(
        id="python", label="Python", state="good" if good else "attention", found=platform.python_version(),
        needed="3.11 to 3.13", remedy="" if good else "Use a tested version.",
        remedy_code="" if good else "doctor.other_python",
    )  # fmt: skip


def _package(name: str, label: str, without: State, use: str) -> Check:
    version = _version(name)
    return Check(
        id=name, label=label, state="good" if version else without, found=version or "not installed", needed=use,
        remedy="" if version else f"Install {label}.", remedy_code="" if version else f"doctor.install_{name}",
    )  # fmt: skip


def _gpu(gpus: Gpus) -> Check:
    if gpus.devices:
        found = ", ".join(f"{d.name} ({d.capacity_bytes / GIB:.1f} GiB)" for d in gpus.devices)
        return Check(
            id="gpu", label="GPU", state="good", found=f"{found}, driver {gpus.driver}",
            arguments={"driver": gpus.driver, "count": len(gpus.devices)},
        )  # fmt: skip
    words = {"no_driver": "no NVIDIA driver", "no_device": "no NVIDIA GPU"}.get(gpus.problem, gpus.problem)
    return Check(
        id="gpu", label="GPU", state="attention", found=words, needed="Training works without one, slowly.",
        remedy="Install the NVIDIA driver if this machine has an NVIDIA GPU.", remedy_code="doctor.install_driver",
    )  # fmt: skip


def _pycuda(gpus: Gpus) -> Check:
    version = _version("pycuda")
    if version or not gpus.devices:
        return Check(
            id="pycuda", label="PyCUDA", state="good", found=version or "not installed",
            needed="" if version else "Needed with a GPU only.",
        )  # fmt: skip
    return _package("pycuda", "PyCUDA", "attention", "Runs kernels on the GPU.")


def _memory(machine: MachineSpec) -> Check:
    usable = machine.memory_bytes - machine.other_bytes
    limited = machine.memory_bytes < psutil.virtual_memory().total
    good = usable >= _LEAST_MEMORY
    return Check(
        id="memory", label="Memory", state="good" if good else "attention",
        found=f"{usable / GIB:.1f} of {machine.memory_bytes / GIB:.1f} GiB usable"
        + (", limited by a control group" if limited else ""),
        needed=f"{_LEAST_MEMORY / GIB:.0f} GiB for the demo", remedy="" if good else "Close other programs.",
        remedy_code="" if good else "doctor.free_memory",
        arguments={"usable_bytes": usable, "capacity_bytes": machine.memory_bytes, "limited": limited},
    )  # fmt: skip


def _disk(machine: MachineSpec) -> Check:
    good = machine.disk_free_bytes >= _LEAST_DISK
    return Check(
        id="disk", label="Disk", state="good" if good else "attention",
        found=f"{machine.disk_free_bytes / 1e9:.1f} GB free", needed=f"{_LEAST_DISK / 1e9:.0f} GB for models and runs",
        remedy="" if good else "Free some disk, or move the home folder.",
        remedy_code="" if good else "doctor.free_disk", arguments={"free_bytes": machine.disk_free_bytes},
    )  # fmt: skip


def _home(home: Home) -> Check:
    good = os.access(home.root, os.W_OK) and os.access(home.runs, os.W_OK)
    return Check(
        id="home", label="Home folder", state="good" if good else "bad", found=str(home.root),
        needed="a folder that can be written", remedy="" if good else "Choose another with --home or ANNEAL_HOME.",
        remedy_code="" if good else "doctor.move_home",
    )  # fmt: skip


def _display(environment: Mapping[str, str]) -> Check:
    if platform.system() in ("Windows", "Darwin"):
        return Check(id="display", label="Display", state="good", found=platform.system())
    named = environment.get("WAYLAND_DISPLAY") or environment.get("DISPLAY") or environment.get("QT_QPA_PLATFORM")
    return Check(
        id="display", label="Display", state="good" if named else "attention", found=named or "none",
        needed="For the window; the command line needs none.", remedy="" if named else "Log in with a desktop.",
        remedy_code="" if named else "doctor.no_display",
    )  # fmt: skip


def _hub(address: str) -> Check:
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/api/models?limit=1", timeout=5) as answer:
            found, good = f"{address} answers ({answer.status})", True
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        found, good = f"{address} does not answer: {reason}", False
    return Check(
        id="hub", label="Hugging Face Hub", state="good" if good else "attention", found=found,
        needed="To search and download; models on this disk work without.",
        remedy="" if good else "Check the network, the proxy or the endpoint in Settings.",
        remedy_code="" if good else "doctor.hub_unreachable",
    )  # fmt: skip


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
