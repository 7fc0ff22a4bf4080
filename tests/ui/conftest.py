"""The window's tests: offscreen, dark, at 100 % text size; nothing of a test outlives it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(scope="session")
def appearance(qapp: QApplication) -> Iterator[object]:
    """The theme in force, which widgets need before they are made."""
    from ui.appearance import Appearance

    made = Appearance(qapp, "dark")
    yield made


@pytest.fixture(autouse=True)
def _dark(appearance: object) -> Iterator[None]:
    from ui.appearance import Appearance

    assert isinstance(appearance, Appearance)
    if appearance.theme.name != "dark" or appearance.theme.scale != 1.0:
        appearance.choose("dark")
        appearance.set_scale(1.0)
    yield


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in threading.enumerate() if thread not in before and thread.is_alive()]
    assert not left, f"The test left threads behind: {left}"
