"""Pages one below the other, one of them shown: the list at the left of Settings and Doctor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.widgets.painting import rounded
from ui.widgets.text import Text


@dataclass(frozen=True)
class Page:
    """What `picked` will carry, an icon, and the page's name."""

    key: str
    icon: str
    label: str


class PageItem(QPushButton):
    """One page: icon and name; the shown one on the accent's soft ground."""

    def __init__(self, page: Page, parent: QWidget | None = None) -> None:
        super().__init__(page.label, parent)
        self._icon = page.icon
        self.setCheckable(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        """32 px high."""
        return QSize(120, themes.current().px(32))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, icon, name."""
        theme = themes.current()
        painter = QPainter(self)
        on = self.isChecked()
        if on or self.underMouse():
            rounded(painter, QRectF(self.rect()), 6, theme.color("ac-soft" if on else "bg3"))
        side, ink = theme.px(16), "ac-tx" if on else "tx2"
        paint_icon(painter, QRectF(10, (self.height() - side) / 2, side, side), self._icon, ink)
        painter.setFont(text_font(theme.px(13), 500))
        painter.setPen(theme.color("ac-tx" if on else "tx1" if self.underMouse() else "tx2"))
        area = QRectF(20 + side, 0, self.width() - side - 24, self.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()


class PageNav(QWidget):
    """`picked` carries the key of the page that the user chose. ↑ and ↓ go to the neighbour."""

    picked = Signal(object)

    def __init__(
        self, name: str, pages: Sequence[Page], current: str, foot: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setProperty("pane", "pages")
        self.setFixedWidth(themes.current().px(184))
        self._group = QButtonGroup(self)
        self._items: dict[str, PageItem] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 12, 12, 16)
        column.setSpacing(2)
        for page in pages:
            item = PageItem(page)
            item.clicked.connect(lambda _checked=False, key=page.key: self.picked.emit(key))
            self._group.addButton(item)
            self._items[page.key] = item
            column.addWidget(item)
        column.addStretch(1)
        column.addWidget(Text(foot, size=12, tone="tx3", wrap=True))
        self.select(current)

    def select(self, key: str) -> None:
        """Show which page is shown, without telling anybody. Raises KeyError for one that is not there."""
        self._items[key].setChecked(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """↑ and ↓ go to the page above or below."""
        items = list(self._items.values())
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        at = next((index for index, item in enumerate(items) if item.hasFocus()), None)
        if step is None or at is None or not 0 <= at + step < len(items):
            super().keyPressEvent(event)
            return
        items[at + step].setFocus(Qt.FocusReason.TabFocusReason)
        items[at + step].click()
