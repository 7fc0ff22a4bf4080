"""Push buttons, painted: icon, text, a note, and the key that does the same."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.theme import Theme
from ui.widgets.painting import keycap_size, paint_keycap, rounded, text_width

Kind = Literal["normal", "primary", "quiet", "risky", "link"]
Size = Literal["inline", "small", "medium", "large"]

_HEIGHT = {"inline": 24, "small": 28, "medium": 32, "large": 40}
_TEXT = {"inline": 12, "small": 12, "medium": 13, "large": 15}
_PADDING = {"inline": 6, "small": 10, "medium": 12, "large": 20}
_GAP = 6


class Button(QPushButton):
    """A button. `keys` is shown as a key cap, `note` as quiet text, `trailing` as an icon after the text."""

    def __init__(
        self,
        text: str = "",
        *,
        icon: str = "",
        kind: Kind = "normal",
        size: Size = "small",
        keys: str = "",
        note: str = "",
        trailing: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._kind, self._size, self._icon = kind, size, icon
        self._keys, self._note, self._trailing = keys, note, trailing
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.setAutoDefault(False)

    def set_icon(self, name: str) -> None:
        """Show another icon."""
        self._icon = name
        self.updateGeometry()
        self.update()

    def set_kind(self, kind: Kind) -> None:
        """Change what the button is: its colours follow."""
        self._kind = kind
        self.update()

    def set_keys(self, keys: str) -> None:
        """Change the key cap."""
        self._keys = keys
        self.updateGeometry()
        self.update()

    def set_note(self, note: str) -> None:
        """Change the quiet text after the label."""
        self._note = note
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Room for everything that is shown."""
        theme = themes.current()
        height = theme.px(_HEIGHT[self._size])
        if not self.text():
            return QSize(height, height)
        padding = 2 if self._kind == "link" else _PADDING[self._size]
        return QSize(round(self._content_width(theme)) + 2 * padding, height)

    def minimumSizeHint(self) -> QSize:
        """A button is never cut."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Surface, then content, centred."""
        theme = themes.current()
        painter = QPainter(self)
        fill, outline, ink = self._colours(theme)
        rounded(painter, QRectF(self.rect()), 8 if self._size == "large" else 6, fill, outline)
        self._paint_content(painter, theme, ink)
        painter.end()

    def _font(self, theme: Theme) -> QFont:
        font = text_font(theme.px(_TEXT[self._size]), 600 if self._kind == "primary" or self._size == "large" else 500)
        font.setUnderline(self._kind == "link" and self.underMouse() and self.isEnabled())
        return font

    def _icon_side(self, theme: Theme) -> float:
        return theme.px(16 if self._size in ("medium", "large") else 14)

    def _label(self) -> str:
        return self.text().replace("&&", "&")

    def _content_width(self, theme: Theme) -> float:
        parts = []
        if self._icon:
            parts.append(self._icon_side(theme))
        if self.text():
            parts.append(text_width(self._font(theme), self._label()) + 1)
        if self._note:
            parts.append(text_width(text_font(theme.px(12)), self._note) + 1)
        if self._trailing:
            parts.append(self._icon_side(theme))
        if self._keys:
            parts.append(keycap_size(self._keys).width())
        return sum(parts) + _GAP * max(0, len(parts) - 1)

    def _colours(self, theme: Theme) -> tuple[QColor | None, QColor | None, str]:
        hover = (self.underMouse() or self.isDown() or self.isChecked()) and self.isEnabled()
        if self._kind == "primary":
            if not self.isEnabled():
                return theme.color("bg4"), None, "tx3"
            return theme.color("ac-h" if hover else "ac"), None, "on-ac"
        if self._kind == "link":
            return None, None, "ac-tx" if self.isEnabled() else "tx3"
        if self._kind == "quiet":
            ink = "tx3" if not self.isEnabled() else "tx1" if hover else "tx2"
            return theme.color("bg4") if hover else None, None, ink
        ink = "tx3" if not self.isEnabled() else "bad" if self._kind == "risky" else "tx1"
        return theme.color("bg4" if hover else "bg3"), theme.color("line2" if self.isEnabled() else "line"), ink

    def _paint_content(self, painter: QPainter, theme: Theme, ink: str) -> None:
        colour = theme.color(ink)
        x = (self.width() - self._content_width(theme)) / 2
        middle, side = self.height() / 2, self._icon_side(theme)
        if self._icon:
            paint_icon(painter, QRectF(x, middle - side / 2, side, side), self._icon, ink)
            x += side + _GAP
        if self.text():
            font = self._font(theme)
            width = text_width(font, self._label()) + 1
            painter.setFont(font)
            painter.setPen(colour)
            painter.drawText(QRectF(x, 0, width, self.height()), Qt.AlignmentFlag.AlignVCenter, self._label())
            x += width + _GAP
        if self._note:
            width = text_width(text_font(theme.px(12)), self._note) + 1
            painter.setFont(text_font(theme.px(12)))
            painter.setPen(colour if self._kind == "primary" else theme.color("tx3"))
            painter.drawText(QRectF(x, 0, width, self.height()), Qt.AlignmentFlag.AlignVCenter, self._note)
            x += width + _GAP
        if self._trailing:
            paint_icon(painter, QRectF(x, middle - side / 2, side, side), self._trailing, ink)
            x += side + _GAP
        if self._keys:
            size = keycap_size(self._keys)
            rect = QRectF(x, middle - size.height() / 2, size.width(), size.height())
            primary = self._kind == "primary"
            outline = colour if primary else theme.color("line2")
            cap_ink = colour if primary or not self.isEnabled() else theme.color("tx2")
            paint_keycap(painter, rect, self._keys, outline, cap_ink, None if primary else theme.color("bg3"))


class IconButton(Button):
    """A square button with an icon only; its name is the tooltip and the accessible name."""

    def __init__(
        self,
        icon: str,
        name: str,
        *,
        kind: Kind = "quiet",
        size: Size = "small",
        keys: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", icon=icon, kind=kind, size=size, parent=parent)
        self.set_name(name, keys)

    def set_name(self, name: str, keys: str = "") -> None:
        """What the button does, in words, with the key that does the same."""
        self.setAccessibleName(name)
        self.setToolTip(f"{name} ({keys})" if keys else name)
