"""What set-up says and does on machines that lack something, played by a PATH of our own; and a second run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.sources import ROOT

_TOOLS = ("sh", "cat", "cmp", "dirname", "flock", "ls", "mkdir", "mv", "rm", "sed", "tr", "uname")


class Machine:
    """A checkout of its own, in a path with a space, and a PATH that holds only what a test puts there."""

    def __init__(self, root: Path) -> None:
        self.checkout, self.programs = root / "check out", root / "bin"
        (self.checkout / "packaging").mkdir(parents=True)
        self.programs.mkdir()
        for name in ("setup.sh", "constraints.txt"):
            shutil.copy(ROOT / "packaging" / name, self.checkout / "packaging")
        shutil.copy(ROOT / "pyproject.toml", self.checkout)
        for tool in _TOOLS:
            found = shutil.which(tool)
            if found:
                (self.programs / tool).symlink_to(found)
        self.program("id", "echo 1000")

    def program(self, name: str, body: str) -> None:
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def set_up(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [self.programs / "sh", self.checkout / "packaging" / "setup.sh", *arguments],
            env={"PATH": str(self.programs), "HOME": "/nonexistent"},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


_SHIM_OF_A_VERSION_MANAGER = "echo 'python3.12: command not found' >&2; exit 127"
_TOO_OLD = 'case "$*" in *version_info*) exit 1;; esac'
_WITHOUT_VENV = 'case "$*" in *ensurepip*) exit 1;; *%d*) echo 3.12;; esac'
_LACKS_LIBRARIES = 'case "$1" in -) echo libegl1; echo libxcb-cursor0;; esac'


def test_no_fitting_python_is_said_with_what_to_install(machine: Machine) -> None:
    machine.program("python3.12", _SHIM_OF_A_VERSION_MANAGER)
    machine.program("python3", _TOO_OLD)
    status, output = machine.set_up()
    assert status == 1
    assert "No Python 3.11, 3.12 or 3.13 was found" in output
    assert "sudo apt-get install python3 python3-venv" in output


def test_a_python_without_venv_is_named(machine: Machine) -> None:
    machine.program("python3.12", _WITHOUT_VENV)
    status, output = machine.set_up()
    assert status == 1 and "python3.12 works, but has no venv module" in output
    machine.program("apt-get", "exit 0")
    machine.program("python3.12", f"{_LACKS_LIBRARIES}; {_WITHOUT_VENV}")
    status, output = machine.set_up()
    line = "  sudo apt-get install -y --no-install-recommends python3.12-venv libegl1 libxcb-cursor0 fonts-dejavu-core"
    assert status == 1 and line in output.splitlines(), "all that must be asked for, once, alone on its line"


def test_missing_libraries_stop_a_user_with_the_exact_line(machine: Machine) -> None:
    machine.program("python3.11", _LACKS_LIBRARIES)
    machine.program("apt-get", "exit 0")
    status, output = machine.set_up()
    assert status == 1
    assert "sudo apt-get install -y --no-install-recommends libegl1 libxcb-cursor0 fonts-dejavu-core" in output
    assert not (machine.checkout / ".venv").exists()


def test_root_installs_what_is_missing_and_only_that(machine: Machine, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    machine.program("id", "echo 0")
    machine.program("env", 'while :; do case "$1" in *=*) shift;; *) break;; esac; done; exec "$@"')
    machine.program("python3.11", _LACKS_LIBRARIES)
    machine.program("apt-get", f'echo "$*" >> "{asked}"')
    for tool in ("Xvfb", "xauth", "openbox"):
        machine.program(tool, "exit 0")
    status, output = machine.set_up("test")
    assert status == 1 and "Still missing after installing: libegl1 libxcb-cursor0 xdotool" in output
    assert asked.read_text().splitlines()[-1].endswith("libegl1 libxcb-cursor0 xdotool fonts-dejavu-core")


def test_other_systems_get_the_names_of_their_packages(machine: Machine) -> None:
    machine.program("python3.11", _LACKS_LIBRARIES)
    status, output = machine.set_up()
    assert status == 1 and "by their Debian names: libegl1 libxcb-cursor0" in output and "Fedora" in output


def test_a_folder_that_is_no_virtual_environment_is_left_alone(machine: Machine) -> None:
    machine.program("python3.11", "exit 0")
    precious = machine.checkout / ".venv" / "letters.txt"
    precious.parent.mkdir()
    precious.write_text("mine")
    status, output = machine.set_up()
    assert status == 1 and "is no virtual environment" in output
    assert precious.read_text() == "mine"


def test_a_second_run_is_quick_silent_and_offline() -> None:
    """In the environment that these tests run in, which set-up made; every proxy points nowhere."""
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere, "ANNEAL_VENV": sys.prefix}
    script = ROOT / "packaging" / "setup.sh"
    stale = subprocess.run([script, "check"], env=environment, capture_output=True, text=True, timeout=60)
    assert stale.returncode == 0, stale.stderr  # or the next line would install
    began = time.monotonic()
    done = subprocess.run([script, "test"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert time.monotonic() - began < 3.0
