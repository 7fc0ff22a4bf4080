"""Skips have reasons from a short list: `gpu` where there is no NVIDIA GPU, and LISTED. Any other fails the run.

A reason reads "<key>: <words>", for example "root: no folder is read-only for root".
"""

from __future__ import annotations

import ctypes
from collections import Counter
from functools import cache

import pytest

LISTED = {
    "root": "file permissions do not hold for root, so a test of them says nothing",
}


@cache
def gpu_answers() -> bool:
    """Whether the NVIDIA driver is there and counts at least one device; nothing is created on it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `gpu` where no GPU answers."""
    for item in items:
        if item.get_closest_marker("gpu") and not gpu_answers():
            item.add_marker(pytest.mark.skip(reason="gpu: no NVIDIA GPU answers here"))


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if hasattr(report, "wasxfail"):
        return f"expected failure: {report.wasxfail}"
    longrepr = report.longrepr
    return str(longrepr[2] if isinstance(longrepr, tuple) else longrepr).removeprefix("Skipped: ")


class SkipGate:
    """Counts outcomes; the run fails on a skip whose reason has another key than `gpu` or one of LISTED."""

    def __init__(self) -> None:
        self.passed = 0
        self.skips: Counter[str] = Counter()

    def unlisted(self) -> list[str]:
        return [reason for reason in self.skips if reason.split(":")[0] not in {"gpu", *LISTED}]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and report.when == "call":
            self.passed += 1
        if report.skipped:
            self.skips[_reason(report)] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skips[_reason(report)] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unlisted() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("passes and skips")
        terminalreporter.line(f"passed: {self.passed}")
        for reason, count in sorted(self.skips.items()):
            terminalreporter.line(f"skipped: {count} — {reason}")
        for reason in self.unlisted():
            terminalreporter.line(f"FAILED: this reason is not in tests/helpers/skips.py: {reason}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # with xdist the controller sees every report
        config.pluginmanager.register(SkipGate(), "anneal-skip-gate")
