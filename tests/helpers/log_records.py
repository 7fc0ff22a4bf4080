"""A warning or error in our own logs fails the test that caused it, unless the test said that it expects one.

    @pytest.mark.expects_log("torn last line")   # a regular expression; a record that matches must appear
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

_OURS = ("engine", "studio", "ui", "anneal")


class _Recorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.split(".")[0] in _OURS:
            self.messages.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@pytest.fixture(autouse=True)
def quiet_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect our records of level WARNING and above, and compare them with the `expects_log` markers."""
    expected = [str(marker.args[0]) for marker in request.node.iter_markers("expects_log")]
    recorder = _Recorder()
    logging.getLogger().addHandler(recorder)
    yield
    logging.getLogger().removeHandler(recorder)
    surprising = [m for m in recorder.messages if not any(re.search(pattern, m) for pattern in expected)]
    missing = [pattern for pattern in expected if not any(re.search(pattern, m) for m in recorder.messages)]
    assert not surprising, f"unexpected log records: {surprising}"
    assert not missing, f"log records that did not appear: {missing}"
