"""The palette is the design's, and it can be read."""

from __future__ import annotations

import math

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from ui import theme as themes
from ui.appearance import Appearance
from ui.stylesheet import style_sheet
from ui.theme import DARK, LIGHT, Theme, palette
from ui.widgets.chart_pens import DASHES, MARKERS, raw_pen, series_pen

# Copied from the design's table, not from ui/theme.py: two places that must agree.
DESIGN = {
    "bg0": ("#0D1015", "#E6EAF0"), "bg1": ("#12161D", "#F3F5F8"), "bg2": ("#191E27", "#FFFFFF"),
    "bg3": ("#212733", "#EFF2F6"), "bg4": ("#2B3342", "#E2E7EF"), "line": ("#29303C", "#D6DDE6"),
    "line2": ("#3B4556", "#BCC6D3"), "ctl": ("#667388", "#778496"), "tx1": ("#E9EDF3", "#151A23"),
    "tx2": ("#B3BDCB", "#414B5A"), "tx3": ("#8D99AB", "#586374"), "ac": ("#6EA8FE", "#1D5FD1"),
    "ac-h": ("#8BBAFF", "#184FB0"), "on-ac": ("#0A1220", "#FFFFFF"), "ac-soft": ("#1A2A45", "#E1ECFE"),
    "ac-tx": ("#9DC4FF", "#174FB2"), "good": ("#45C9A3", "#0A7356"), "good-soft": ("#13302A", "#DBF2EA"),
    "warn": ("#F0B752", "#855600"), "warn-soft": ("#352A12", "#FBEFD6"), "bad": ("#FF8B7C", "#B53024"),
    "bad-soft": ("#3B1F1E", "#FCE5E2"), "ember": ("#F28C52", "#BE5518"), "grid": ("#262D39", "#E4E9F0"),
    "axis": ("#8D99AB", "#586374"),
    "s1": ("#81B0F3", "#486ECC"), "s2": ("#EC7CBB", "#A22E8B"), "s3": ("#C6D75C", "#758400"),
    "s4": ("#9077ED", "#4F36B2"), "s5": ("#4FD0E5", "#1697B9"), "s6": ("#B98C62", "#8A5A48"),
    "s7": ("#CBE5E7", "#61797F"), "s8": ("#D45680", "#71214F"),
    "m1": ("#7185AF", "#3D5D8C"), "m2": ("#B997D8", "#8266B6"), "m3": ("#CEB892", "#7A6644"),
    "m4": ("#527EBE", "#344365"), "m5": ("#83AE97", "#557B65"), "m6": ("#9AA3AF", "#5E6374"),
}  # fmt: skip


def luminance(colour: QColor) -> float:
    """WCAG 2.1 relative luminance."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.getRgbF()[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(theme: Theme, first: str, second: str) -> float:
    """WCAG 2.1 contrast of two tokens."""
    high, low = sorted((luminance(theme.color(first)), luminance(theme.color(second))), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("token", DESIGN)
def test_tokens_are_the_designs(token: str) -> None:
    assert (DARK.color(token).name().upper(), LIGHT.color(token).name().upper()) == DESIGN[token]


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_contrast(theme: Theme) -> None:
    for ink in ("tx1", "tx2", "tx3", "ac-tx", "good", "warn", "bad"):
        for ground in ("bg0", "bg1", "bg2", "bg3"):
            assert contrast(theme, ink, ground) >= 4.5, (ink, ground)
    for ink, ground in (("on-ac", "ac"), ("good", "good-soft"), ("warn", "warn-soft"), ("bad", "bad-soft"),
                        ("ac-tx", "ac-soft"), ("tx2", "bg4"), ("tx3", "ac-soft")):  # fmt: skip
        assert contrast(theme, ink, ground) >= 4.5, (ink, ground)
    for graphic in ("ctl", "ac", "ember", *(f"s{n}" for n in range(1, 9)), *(f"m{n}" for n in range(1, 7))):
        for ground in ("bg1", "bg2"):
            assert contrast(theme, graphic, ground) >= 3, (graphic, ground)
    for segment in range(1, 7):
        assert contrast(theme, "segment_text", f"m{segment}") >= 4.5


def test_style_sheet_names_only_tokens_that_exist() -> None:
    for theme in (DARK, LIGHT):
        text = style_sheet(theme)
        assert "@" not in text and "$" not in text
        assert theme.ac in text
    assert "font-size: 20px" in style_sheet(DARK.scaled(1.5)), "13 px at 150 % is 20 px"


def test_dashes_are_divided_by_the_pens_width() -> None:
    for slot, dash in enumerate(DASHES, start=1):
        pen = series_pen(DARK, slot, 2.0)
        assert [round(part * 2.0, 3) for part in pen.dashPattern()] == [*dash] or not dash
        assert pen.isCosmetic()
    assert len(set(zip(DASHES, MARKERS, strict=True))) == 8, "a slot is told by dash and marker together"
    assert math.isclose(raw_pen(DARK, 1).color().alphaF(), 0.38, abs_tol=0.005)


def test_live_switch(qapp: QApplication, appearance: Appearance) -> None:
    seen: list[str] = []
    appearance.changed.connect(lambda theme: seen.append(theme.name))
    appearance.toggle()
    assert seen == ["light"] and themes.current() is appearance.theme
    assert qapp.palette().color(QPalette.ColorRole.Window) == LIGHT.color("bg1")
    assert qapp.palette().color(QPalette.ColorRole.Window) == palette(LIGHT).color(QPalette.ColorRole.Window)
    appearance.choose("system")
    assert appearance.choice == "system" and themes.current().name in ("dark", "light")
    with pytest.raises(ValueError):
        appearance.set_scale(1.3)
