"""The doctor's report as text for a bug report: what was found, without names of users and without tokens."""

from __future__ import annotations

import getpass
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from studio.hub.secrets import redact
from studio.machine import MachineSpec
from studio.machine.doctor import Check


def doctor_report(checks: Sequence[Check], versions: Mapping[str, str], machine: MachineSpec | None) -> str:
    """One line a check, then versions and rates. The user's folder is "~", the user's name is "USER"."""
    lines = [
        f"{check.state:<10}{check.label}: {check.found}"
        + (f" (needed: {check.needed})" if check.needed else "")
        + (f" -> {check.remedy}" if check.remedy else "")
        for check in checks
    ]
    lines += ["", ", ".join(f"{name} {version}" for name, version in versions.items())]
    if machine is not None:
        rates = f"{machine.matmul_flops / 1e9:.0f} GFLOP/s, {machine.memory_bandwidth / 1e9:.1f} GB/s"
        lines.append(f"{machine.name}, {machine.cores} cores, {rates if machine.measured else 'not measured'}")
    return without_names("\n".join(lines))


def without_names(text: str) -> str:
    """`text` without tokens, the user's folder and the user's name."""
    cleaned = redact(text)
    folder = str(Path.home())
    if len(folder) > 1:
        cleaned = cleaned.replace(folder, "~")
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # no such user: a container may have none
        return cleaned
    return re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "USER", cleaned)
