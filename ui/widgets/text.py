"""Labels: text in one of the design's sizes and tones, key caps, and divider lines."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import mono_font
from ui.widgets.painting import refresh_style

Tone = Literal["tx1", "tx2", "tx3", "good", "warn", "bad", "ac-tx", "on-ac", "ember"]


class Text(QLabel):
    """A label. `wrap` breaks lines, `elide` cuts with "…" and shows the whole in a tooltip."""

    def __init__(
        self,
        text: str = "",
        *,
        size: int = 13,
        weight: int = 400,
        tone: Tone = "tx1",
        mono: bool = False,
        wrap: bool = False,
        elide: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("textSize", str(size))  # "size" itself is the geometry of every QWidget
        self.setProperty("weight", str(weight))
        self.setProperty("tone", tone)
        self.setProperty("mono", mono)
        self.setWordWrap(wrap)
        if mono:
            self.setFont(mono_font(themes.current().px(size)))  # for its features: the style sheet knows no ligatures
        self._elide = elide
        if elide:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            self.setMinimumWidth(24)

    def set_tone(self, tone: Tone) -> None:
        """Change the colour to another tone."""
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            refresh_style(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Elided text is drawn here; everything else by QLabel."""
        if not self._elide:
            super().paintEvent(event)
            return
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), self.alignment() | Qt.AlignmentFlag.AlignVCenter, self._shown())
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The tooltip carries the whole text only while it is cut."""
        super().resizeEvent(event)
        if self._elide:
            self.setToolTip(self.text() if self._shown() != self.text() else "")

    def _shown(self) -> str:
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width())


class RichText(Text):
    """A label whose text is our own markup (bold, links): never give it text from outside without escaping it."""

    def __init__(
        self, text: str = "", *, size: int = 13, tone: Tone = "tx2", wrap: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__("", size=size, tone=tone, wrap=wrap, parent=parent)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setText(text)

    def setText(self, text: str) -> None:
        """`<b>` is semi-bold: the bundled Inter has no bold, and a synthesised one is blurred."""
        semibold = text.replace("<b>", '<span style="font-weight:600">').replace("</b>", "</span>")
        super().setText(semibold)


class KeyCap(QLabel):
    """A key such as "F1"."""

    def __init__(self, keys: str, parent: QWidget | None = None) -> None:
        super().__init__(keys, parent)
        self.setProperty("keycap", True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)


class Rule(QFrame):
    """A divider line, 1 px."""

    def __init__(self, vertical: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("rule", True)
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)


class IconLabel(QWidget):
    """An icon by itself, in a theme colour."""

    def __init__(self, name: str, token: str = "tx2", size: int = 16, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._token, self._size = name, token, size
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_icon(self, name: str, token: str | None = None) -> None:
        """Show another icon, or the same in another colour."""
        self._name, self._token = name, token or self._token
        self.update()

    def sizeHint(self) -> QSize:
        """The icon's size at the chosen text size."""
        side = themes.current().px(self._size)
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the icon."""
        from PySide6.QtCore import QRectF

        from ui.icons import paint_icon

        painter = QPainter(self)
        side = themes.current().px(self._size)
        paint_icon(painter, QRectF(0, (self.height() - side) / 2, side, side), self._name, self._token)
        painter.end()
