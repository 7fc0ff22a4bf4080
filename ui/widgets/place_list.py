"""Where things are kept: one bar over the disk, and a line for each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from ui import theme as themes
from ui.widgets.painting import rounded
from ui.widgets.text import Rule, Text


@dataclass(frozen=True)
class PlaceLine:
    """A place in words; `share` is its part of the disk, 0 to 1."""

    name: str
    size: str
    path: str
    note: str
    share: float


class Swatch(QWidget):
    """The colour of a place in the bar."""

    def __init__(self, slot: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slot = slot
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """A small square."""
        return QSize(10, 10)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The square."""
        painter = QPainter(self)
        rounded(painter, QRectF(0, (self.height() - 10) / 2, 10, 10), 2, themes.current().color(f"s{self._slot}"))
        painter.end()


class DiskBar(QWidget):
    """The disk as one bar: each place in its colour, what is left as an outline."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._shares: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_shares(self, shares: Sequence[float], spoken: str) -> None:
        """Parts of the disk, 0 to 1 each."""
        self._shares = tuple(shares)
        self.setAccessibleDescription(spoken)
        self.update()

    def sizeHint(self) -> QSize:
        """16 px high."""
        return QSize(120, themes.current().px(16))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Segments with 2 px gaps; one that holds anything is at least 2 px wide."""
        theme = themes.current()
        painter = QPainter(self)
        x = 0.0
        for slot, share in enumerate(self._shares, start=1):
            if share <= 0:
                continue
            width = max(2.0, self.width() * share)
            rounded(painter, QRectF(x, 0, width, self.height()), min(3.0, width / 2), theme.color(f"s{slot}"))
            x += width + 2
        if x < self.width():
            rest = QRectF(x, 0, self.width() - x, self.height())
            rounded(painter, rest, 3, theme.color("free"), theme.color("line2"))
        painter.end()


class PlaceList(QWidget):
    """`show_places` fills it; before that it holds `waiting`."""

    def __init__(self, bar_name: str, waiting: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.total = Text(waiting, size=12, tone="tx2", wrap=True)
        self.bar = DiskBar(bar_name)
        self._lines = QVBoxLayout()
        self._lines.setSpacing(6)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.total)
        column.addWidget(self.bar)
        column.addLayout(self._lines)

    def show_places(self, total: str, places: Sequence[PlaceLine]) -> None:
        """Show the places."""
        self.total.setText(total)
        self.bar.set_shares([place.share for place in places], total)
        while (item := self._lines.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for slot, place in enumerate(places, start=1):
            if slot > 1:
                self._lines.addWidget(Rule())
            self._lines.addWidget(_place(slot, place))


def _place(slot: int, place: PlaceLine) -> QWidget:
    line = QWidget()
    line.setAccessibleName(f"{place.name}: {place.size}, {place.note}, {place.path}")
    grid = QGridLayout(line)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setVerticalSpacing(2)
    head = QHBoxLayout()
    head.setSpacing(6)
    head.addWidget(Swatch(slot))
    head.addWidget(Text(place.name, size=12, weight=500), 1)
    grid.addLayout(head, 0, 0)
    grid.addWidget(Text(place.size, size=12, weight=600), 0, 1, Qt.AlignmentFlag.AlignRight)
    grid.addWidget(Text(place.path, size=12, tone="tx3", mono=True, elide=True), 1, 0)
    grid.addWidget(Text(place.note, size=12, tone="tx3"), 1, 1, Qt.AlignmentFlag.AlignRight)
    grid.setColumnStretch(0, 1)
    return line
