"""What holds for every test. Each part is a small plugin in tests/helpers."""

from __future__ import annotations

pytest_plugins = [
    "tests.helpers.surroundings",
    "tests.helpers.leftovers",
    "tests.helpers.log_records",
    "tests.helpers.skips",
    "tests.helpers.scenarios",
]
