"""The rail at the left: where one can go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.tr import tr
from ui.widgets.painting import paint_dot, rounded


@dataclass(frozen=True)
class Destination:
    """One item of the rail. `foot` puts it at the bottom."""

    route: str
    icon: str
    label: str
    keys: str = ""
    foot: bool = False


class RailItem(QToolButton):
    """70 by 52 px: icon and word; selected = soft fill and a bar; an ember dot while something runs there."""

    def __init__(self, destination: Destination, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.destination = destination
        self._narrow, self._dot = False, False
        self.setText(destination.label)
        self.setCheckable(True)
        self.setAccessibleName(destination.label)
        self.setToolTip(f"{destination.label} ({destination.keys})" if destination.keys else destination.label)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_narrow(self, narrow: bool) -> None:
        """Icon only, for narrow windows."""
        self._narrow = narrow
        self.updateGeometry()

    def set_dot(self, dot: bool) -> None:
        """Show or hide the ember dot."""
        self._dot = dot
        running = tr("{name}, running", name=self.destination.label) if dot else self.destination.label
        self.setAccessibleName(running)
        self.update()

    def sizeHint(self) -> QSize:
        """70×52, or 46×44 when narrow."""
        theme = themes.current()
        return QSize(46, 44) if self._narrow else QSize(theme.px(70), theme.px(52))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Fill, bar, icon, word, dot."""
        theme = themes.current()
        painter = QPainter(self)
        on = self.isChecked()
        if on or self.underMouse():
            rounded(painter, QRectF(self.rect()), 8, theme.color("ac-soft" if on else "bg3"))
        if on:
            rounded(painter, QRectF(0, self.height() / 2 - 14, 3, 28), 1.5, theme.color("ac"))
        ink = "ac-tx" if on else "tx2" if self.underMouse() else "tx3"
        side = theme.px(18)
        top = (self.height() - side) / 2 if self._narrow else (self.height() - side - theme.px(17)) / 2
        icon = QRectF((self.width() - side) / 2, top, side, side)
        paint_icon(painter, icon, self.destination.icon, ink)
        if not self._narrow:
            painter.setFont(text_font(theme.px(12), 500))
            painter.setPen(theme.color(ink))
            below = QRectF(0, icon.bottom() + 3, self.width(), theme.px(14))
            painter.drawText(below, Qt.AlignmentFlag.AlignCenter, self._fitting(painter))
        if self._dot:
            centre = QPointF(icon.right() + 4, icon.top() + 1)
            paint_dot(painter, centre, 6, theme.color("bg0"))
            paint_dot(painter, centre, 4, theme.color("ember"))
        painter.end()

    def _fitting(self, painter: QPainter) -> str:
        metrics = painter.fontMetrics()
        return metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())


class NavRail(QWidget):
    """The items, one of them selected. `picked` carries the route that the user chose."""

    picked = Signal(str)

    def __init__(self, destinations: Iterable[Destination], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "bg0")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._group = QButtonGroup(self)
        self._items: dict[str, RailItem] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 8, 1, 8)
        self._column.setSpacing(2)
        foot = []
        for destination in destinations:
            item = RailItem(destination, self)
            item.clicked.connect(lambda _checked=False, route=destination.route: self.picked.emit(route))
            self._group.addButton(item)
            self._items[destination.route] = item
            if destination.foot:
                foot.append(item)
            else:
                self._column.addWidget(item, 0, Qt.AlignmentFlag.AlignHCenter)
        self._column.addStretch(1)
        for item in foot:
            self._column.addWidget(item, 0, Qt.AlignmentFlag.AlignHCenter)
        self.set_narrow(False)

    def item(self, route: str) -> RailItem:
        """The item of a route. Raises KeyError for a route that is not on the rail."""
        return self._items[route]

    def select(self, route: str) -> None:
        """Mark `route` as where we are; a route that is not on the rail marks nothing."""
        if route in self._items:
            self._items[route].setChecked(True)
            return
        self._group.setExclusive(False)
        for item in self._items.values():
            item.setChecked(False)
        self._group.setExclusive(True)

    def set_narrow(self, narrow: bool) -> None:
        """48 px with icons only, or 72 px with words."""
        for item in self._items.values():
            item.set_narrow(narrow)
        self.setFixedWidth(48 if narrow else themes.current().px(72))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The divider at the right; the ground comes from the style sheet."""
        theme = themes.current()
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("bg0"))
        painter.fillRect(QRectF(self.width() - 1, 0, 1, self.height()), theme.color("line"))
        painter.end()
