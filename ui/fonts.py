"""The two font families, loaded from resources/ so that every machine draws the same text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtGui import QFont, QFontDatabase

RESOURCES = Path(__file__).resolve().parent.parent / "resources"
TEXT_FAMILY = "Inter"
MONO_FAMILY = "JetBrains Mono"


@cache
def load_fonts() -> None:
    """Register the bundled fonts. Raises RuntimeError naming the file that Qt could not read."""
    for path in sorted((RESOURCES / "fonts").glob("*.[ot]tf")):
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            raise RuntimeError(f"Qt could not read the font {path}.")


def text_font(pixels: int = 13, weight: int = 400) -> QFont:
    """Inter at `pixels`, with figures that all have the same width.

    Contextual alternates are off: they make "8x7B" and "v6 x86" read "8×7B" and "v6 ×86".
    """
    font = QFont(TEXT_FAMILY)
    font.setPixelSize(pixels)
    font.setWeight(QFont.Weight(weight))
    font.setFeature(QFont.Tag("tnum"), 1)
    font.setFeature(QFont.Tag("calt"), 0)
    return font


def mono_font(pixels: int = 12, weight: int = 400) -> QFont:
    """JetBrains Mono at `pixels`, ligatures off: `!=` in a log must read as it was written."""
    font = QFont(MONO_FAMILY)
    font.setPixelSize(pixels)
    font.setWeight(QFont.Weight(weight))
    font.setStyleHint(QFont.StyleHint.Monospace)
    for feature in ("liga", "calt"):
        font.setFeature(QFont.Tag(feature), 0)
    return font
