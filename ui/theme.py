"""Every colour of the window, for dark and light, in one dataclass.

Tokens are the design's own names. The theme is a property of the QApplication, as its palette is: painted widgets ask
`current()` while they paint, and everything else gets it through the style sheet. Setting it is `ui.appearance`'s work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

_PROPERTY = "annealTheme"


@dataclass(frozen=True)
class Theme:
    """Colours as `#rrggbb`; `scale` multiplies every text size and row height (1.0 to 1.5)."""

    name: str
    bg0: str
    bg1: str
    bg2: str
    bg3: str
    bg4: str
    line: str
    line2: str
    ctl: str
    tx1: str
    tx2: str
    tx3: str
    ac: str
    ac_h: str
    on_ac: str
    ac_soft: str
    ac_tx: str
    good: str
    good_soft: str
    warn: str
    warn_soft: str
    bad: str
    bad_soft: str
    ember: str
    grid: str
    axis: str
    free: str
    segment_text: str
    hatch: str
    hatch_alpha: float
    raw_alpha: float
    series: tuple[str, ...]
    memory: tuple[str, ...]
    scale: float = 1.0
    patterns: bool = True
    reduce_motion: bool = False

    def px(self, size: float) -> int:
        """A design length in logical pixels at the chosen text size."""
        return round(size * self.scale)

    def color(self, token: str) -> QColor:
        """The colour of a token named as in the design: `tx1`, `ac-soft`, `s3`, `m2`."""
        if token[0] in "sm" and token[1:].isdigit():
            return QColor((self.series if token[0] == "s" else self.memory)[int(token[1:]) - 1])
        return QColor(str(getattr(self, token.replace("-", "_"))))

    def scaled(self, scale: float) -> Theme:
        """The same colours at another text size."""
        return replace(self, scale=scale)


DARK = Theme(
    name="dark",
    bg0="#0D1015", bg1="#12161D", bg2="#191E27", bg3="#212733", bg4="#2B3342",
    line="#29303C", line2="#3B4556", ctl="#667388", tx1="#E9EDF3", tx2="#B3BDCB", tx3="#8D99AB",
    ac="#6EA8FE", ac_h="#8BBAFF", on_ac="#0A1220", ac_soft="#1A2A45", ac_tx="#9DC4FF",
    good="#45C9A3", good_soft="#13302A", warn="#F0B752", warn_soft="#352A12", bad="#FF8B7C", bad_soft="#3B1F1E",
    ember="#F28C52", grid="#262D39", axis="#8D99AB", free="#161B23", segment_text="#0B1018",
    hatch="#080C12", hatch_alpha=0.34, raw_alpha=0.38,
    series=("#81B0F3", "#EC7CBB", "#C6D75C", "#9077ED", "#4FD0E5", "#B98C62", "#CBE5E7", "#D45680"),
    memory=("#7185AF", "#B997D8", "#CEB892", "#527EBE", "#83AE97", "#9AA3AF"),
)  # fmt: skip

LIGHT = Theme(
    name="light",
    bg0="#E6EAF0", bg1="#F3F5F8", bg2="#FFFFFF", bg3="#EFF2F6", bg4="#E2E7EF",
    line="#D6DDE6", line2="#BCC6D3", ctl="#778496", tx1="#151A23", tx2="#414B5A", tx3="#586374",
    ac="#1D5FD1", ac_h="#184FB0", on_ac="#FFFFFF", ac_soft="#E1ECFE", ac_tx="#174FB2",
    good="#0A7356", good_soft="#DBF2EA", warn="#855600", warn_soft="#FBEFD6", bad="#B53024", bad_soft="#FCE5E2",
    ember="#BE5518", grid="#E4E9F0", axis="#586374", free="#F3F5F8", segment_text="#FFFFFF",
    hatch="#FFFFFF", hatch_alpha=0.36, raw_alpha=0.40,
    series=("#486ECC", "#A22E8B", "#758400", "#4F36B2", "#1697B9", "#8A5A48", "#61797F", "#71214F"),
    memory=("#3D5D8C", "#8266B6", "#7A6644", "#344365", "#557B65", "#5E6374"),
)  # fmt: skip


def current() -> Theme:
    """The theme in force. Raises RuntimeError before `ui.appearance.apply` has set one."""
    application = QApplication.instance()
    theme = application.property(_PROPERTY) if application is not None else None
    if not isinstance(theme, Theme):
        raise RuntimeError("No theme is set: call ui.appearance.apply(application, theme) first.")
    return theme


def remember(application: QApplication, theme: Theme) -> None:
    """Make `theme` the one that `current()` answers."""
    application.setProperty(_PROPERTY, theme)


def palette(theme: Theme) -> QPalette:
    """The QPalette that Fusion and unstyled widgets use."""
    result = QPalette()
    roles = {
        QPalette.ColorRole.Window: "bg1", QPalette.ColorRole.WindowText: "tx1", QPalette.ColorRole.Base: "bg1",
        QPalette.ColorRole.AlternateBase: "bg2", QPalette.ColorRole.Text: "tx1", QPalette.ColorRole.Button: "bg3",
        QPalette.ColorRole.ButtonText: "tx1", QPalette.ColorRole.BrightText: "bad", QPalette.ColorRole.Link: "ac-tx",
        QPalette.ColorRole.LinkVisited: "ac-tx", QPalette.ColorRole.Highlight: "ac-soft",
        QPalette.ColorRole.HighlightedText: "tx1", QPalette.ColorRole.ToolTipBase: "bg4",
        QPalette.ColorRole.ToolTipText: "tx1", QPalette.ColorRole.PlaceholderText: "tx3",
        QPalette.ColorRole.Light: "bg4", QPalette.ColorRole.Midlight: "bg4", QPalette.ColorRole.Mid: "line2",
        QPalette.ColorRole.Dark: "line", QPalette.ColorRole.Shadow: "bg0", QPalette.ColorRole.Accent: "ac",
    }  # fmt: skip
    for role, token in roles.items():
        result.setColor(role, theme.color(token))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, theme.color("tx3"))
    return result
