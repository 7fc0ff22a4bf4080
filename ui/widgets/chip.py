"""Filter chips and the layout that wraps them."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QLayout, QLayoutItem, QPushButton, QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.theme import Theme
from ui.widgets.painting import rounded, text_width

_GAP = 6


class Chip(QPushButton):
    """A 26 px pill. Checkable by default, with a tick when on; `menu` ends it in a chevron, `removable` in a cross."""

    def __init__(
        self, text: str, *, icon: str = "", menu: bool = False, removable: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(text, parent)
        self.setCheckable(True)
        self._icon, self._trailing = icon, "chevron-down" if menu else "cross" if removable else ""
        self._menu = menu
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.toggled.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        """Room for icon, words and mark."""
        theme = themes.current()
        marks = sum(theme.px(14) + _GAP for mark in (self._leading(), self._trailing) if mark)
        return QSize(round(text_width(self._font(theme), self.text())) + 22 + marks, theme.px(26))

    def minimumSizeHint(self) -> QSize:
        """A chip is never cut."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Outline or soft fill, then content."""
        theme = themes.current()
        painter = QPainter(self)
        on = self.isChecked()
        fill = theme.color("ac-soft") if on else theme.color("bg4") if self.underMouse() else None
        rounded(painter, QRectF(self.rect()), self.height() / 2, fill, theme.color("ac" if on else "line2"))
        ink = "ac-tx" if on else "tx2" if self.isEnabled() else "tx3"
        side, x = theme.px(14), 10.0
        if self._leading():
            paint_icon(painter, QRectF(x, (self.height() - side) / 2, side, side), self._leading(), ink)
            x += side + _GAP
        painter.setFont(self._font(theme))
        painter.setPen(theme.color(ink))
        width = text_width(painter.font(), self.text()) + 2
        painter.drawText(QRectF(x, 0, width, self.height()), Qt.AlignmentFlag.AlignVCenter, self.text())
        if self._trailing:
            edge = self.width() - 10 - side
            paint_icon(painter, QRectF(edge, (self.height() - side) / 2, side, side), self._trailing, ink)
        painter.end()

    def _leading(self) -> str:
        return self._icon or ("check" if self.isChecked() and not self._trailing else "")

    def _font(self, theme: Theme) -> QFont:
        return text_font(theme.px(12), 500 if self.isChecked() else 400)


class FlowLayout(QLayout):
    """Lays widgets out in rows and wraps, as words in a paragraph."""

    def __init__(self, parent: QWidget | None = None, gap: int = 8) -> None:
        super().__init__(parent)
        self.setContentsMargins(0, 0, 0, 0)
        self._gap = gap
        self._items: list[QLayoutItem] = []

    def addItem(self, item: QLayoutItem) -> None:
        """Take one more item at the end."""
        self._items.append(item)

    def count(self) -> int:
        """How many items there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """The item at `index`, None past the end (Qt asks until it gets None)."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Remove and return the item at `index`."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """It asks for no more room than it needs."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """The height follows from the width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """The height of all rows at `width`."""
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        """Place every item."""
        super().setGeometry(rect)
        self._place(rect, move=True)

    def sizeHint(self) -> QSize:
        """One row of everything."""
        sizes = [item.sizeHint() for item in self._items]
        width = sum(size.width() for size in sizes) + self._gap * max(0, len(sizes) - 1)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """The largest single item."""
        sizes = [item.minimumSize() for item in self._items]
        return QSize(
            max((size.width() for size in sizes), default=0), max((size.height() for size in sizes), default=0)
        )

    def _place(self, rect: QRect, *, move: bool) -> int:
        x, y, row = rect.x(), rect.y(), 0
        for item in self._items:
            widget = item.widget()
            if widget is not None and widget.isHidden():
                continue
            size = item.sizeHint()
            if x > rect.x() and x + size.width() > rect.right() + 1:
                x, y, row = rect.x(), y + row + self._gap, 0
            if move:
                item.setGeometry(QRect(QPoint(x, y), size))
            x, row = x + size.width() + self._gap, max(row, size.height())
        return y + row - rect.y()
