"""The suite's own plugins fail what they promise to fail: each is run on a small suite in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PLUGINS = ("surroundings", "leftovers", "log_records", "skips", "scenarios")


@pytest.fixture
def run_suite(tmp_path: Path):
    """Return a function that runs one test file under our conftest and gives (exit status, output)."""
    suite = tmp_path / "suite"
    (suite / "tests" / "helpers").mkdir(parents=True)
    shutil.copy(_ROOT / "pyproject.toml", suite)
    shutil.copy(_ROOT / "tests" / "conftest.py", suite / "tests")
    (suite / "tests" / "__init__.py").touch()
    for name in _PLUGINS:
        shutil.copy(_ROOT / "tests" / "helpers" / f"{name}.py", suite / "tests" / "helpers")

    def run(body: str, *options: str) -> tuple[int, str]:
        (suite / "tests" / "test_small.py").write_text(body, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "tests"]
        done = subprocess.run(command, cwd=suite, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    return run


_MUST_FAIL = """
import logging, socket, threading, warnings, pytest
from PySide6.QtCore import QTimer
KEPT = []

def test_log(): logging.getLogger("engine.x").warning("odd")

def test_warning(): warnings.warn("strange")

@pytest.mark.expects_log("never")
def test_absent_log(): pass

def test_thread(): threading.Timer(4, print).start()

def test_timer(qapp):
    KEPT.append(QTimer())
    KEPT[0].start(9)

def test_network():
    try: socket.create_connection(("192.0.2.1", 80), 0.1)
    except RuntimeError: pass
"""
_COMPLAINTS = {
    "test_log": "unexpected log records",
    "test_warning": "UserWarning: strange",
    "test_absent_log": "log records that did not appear",
    "test_thread": "threads outlived the test",
    "test_timer": "timers outlived the test",
    "test_network": "loopback only",
}


def test_what_must_fail_fails(run_suite) -> None:
    status, output = run_suite(_MUST_FAIL)
    assert status == 1
    for name, complaint in _COMPLAINTS.items():
        summary = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR")) and f"::{name}" in line]
        assert len(summary) == 1, output
        assert complaint in output, output


@pytest.mark.parametrize("body", ["pytest.skip('felt like it')", "pytest.xfail('felt like it')"])
def test_an_unlisted_skip_fails_the_run(run_suite, body: str) -> None:
    status, output = run_suite(f"import pytest\ndef test_a(): {body}\ndef test_b(): pass")
    assert status == 1 and "this reason is not in" in output, output


def test_expected_things_pass(run_suite) -> None:
    status, output = run_suite(
        "import logging, os, pytest\n"
        "@pytest.mark.gpu\ndef test_gpu(): pass\n"
        "def test_root(): pytest.skip('root: no folder is read-only')\n"
        "@pytest.mark.expects_log('odd')\ndef test_log(): logging.getLogger('studio').warning('odd')\n"
        "def test_home(): assert 'surroundings' in os.environ['ANNEAL_HOME']\n"
    )
    assert status == 0, output
    assert "skipped: 1 — root: no folder is read-only" in output


_ALL = [f"S{number}" for number in (1, 2, 3, 4, 5, 7, 8, 10, 11, 13, 14, 15, 16, 18, 19, 20, 22, 32, 35)]
_HELD = "import pytest\n" + "".join(f"@pytest.mark.scenario('{name}')\ndef test_{name}(): pass\n" for name in _ALL)


def test_the_scenario_table_passes_when_every_scenario_was_held(run_suite) -> None:
    assert run_suite(_HELD, "--scenarios", "-n", "2")[0] == 0
    assert run_suite(_HELD, "--scenarios")[0] == 0


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one-process", "two-processes"])
def test_the_scenario_table_fails_when_one_was_not_held(run_suite, workers: tuple[str, ...]) -> None:
    body = _HELD.replace("def test_S8(): pass", "def test_S8(): pytest.skip('gpu: none')").replace("'S4'", "'S99'")
    status, output = run_suite(body, "--scenarios", *workers)
    assert status == 1, output
    assert "not held by a test that ran and passed: S4, S8" in output
    assert "S4   missing" in output and "S8   skipped" in output
