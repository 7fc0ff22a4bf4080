"""Which tests hold which scenario of the product: `@pytest.mark.scenario("S4")`.

The table is printed at the end of each run. With `--scenarios` (as `make test` runs) the run fails unless each of
REQUIRED was held by at least one test, and by no test that failed or was skipped.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

REQUIRED = ("S1", "S2", "S3", "S4", "S5", "S7", "S8", "S10", "S11", "S13", "S14", "S15", "S16", "S18", "S19", "S20",
            "S22", "S32", "S35")  # fmt: skip
_PROPERTY = "scenario"
_WORST_LAST = ("passed", "skipped", "failed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scenarios", action="store_true", help="fail unless every required scenario ran and passed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Carry the marks as properties: those travel with the reports, from xdist's workers too."""
    for item in items:
        for marker in item.iter_markers(_PROPERTY):
            item.user_properties.extend((_PROPERTY, str(name)) for name in marker.args)


class ScenarioTable:
    """Scenario → test → outcome, the worst of its set-up, call and teardown."""

    def __init__(self, required: tuple[str, ...]) -> None:
        self.required = required
        self.outcomes: dict[str, dict[str, str]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for key, name in report.user_properties:
            if key == _PROPERTY:
                before = self.outcomes[str(name)].get(report.nodeid, "passed")
                self.outcomes[str(name)][report.nodeid] = max(before, report.outcome, key=_WORST_LAST.index)

    def result(self, name: str) -> str:
        """The word for one scenario: missing, or the worst outcome of its tests."""
        return max(self.outcomes[name].values(), key=_WORST_LAST.index) if self.outcomes.get(name) else "missing"

    def broken(self) -> list[str]:
        return [name for name in self.required if self.result(name) != "passed"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.broken() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        names = sorted({*self.required, *self.outcomes}, key=lambda name: (len(name), name))
        if not names:
            return
        terminalreporter.section("scenarios")
        for name in names:
            tests = list(dict.fromkeys(test.split("[")[0] for test in sorted(self.outcomes.get(name, {}))))
            terminalreporter.line(f"{name:<4} {self.result(name):<8} {tests[0] if tests else ''}".rstrip())
            for test in tests[1:]:
                terminalreporter.line(f"{'':<13} {test}")
        if self.broken():
            broken = ", ".join(self.broken())
            terminalreporter.line(f"FAILED: not held by a test that ran and passed: {broken}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # with xdist the controller sees every report
        required = REQUIRED if config.getoption("--scenarios") else ()
        config.pluginmanager.register(ScenarioTable(required), "anneal-scenarios")
