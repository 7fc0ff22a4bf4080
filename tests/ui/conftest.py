"""The window's tests: offscreen, dark, at 100 % text size."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from ui.appearance import Appearance

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(scope="session")
def _appearance(qapp: QApplication) -> Appearance:
    return Appearance(qapp, "dark")


@pytest.fixture(autouse=True)
def appearance(_appearance: Appearance) -> Iterator[Appearance]:
    """The theme in force, which widgets need before they are made; dark again for every test."""
    if _appearance.choice != "dark" or _appearance.theme.scale != 1.0:
        _appearance.choose("dark")
        _appearance.set_scale(1.0)
    yield _appearance
