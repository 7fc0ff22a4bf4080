"""Where memory goes: one stacked bar on a scale that is the capacity, and its legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.format import GIB, memory, number
from ui.theme import Theme
from ui.tr import tr
from ui.widgets.hatches import Category, category_label, paint_category
from ui.widgets.painting import rounded, text_width

_GAP = 2.0
TIGHT_SHARE = 0.10


@dataclass(frozen=True)
class Segment:
    """One part of a bar: bytes of a category, with the formula or note that the tooltip shows."""

    category: Category
    size: float
    detail: str = ""


@dataclass(frozen=True)
class Placed:
    """A segment and where it lies: x and width in logical pixels."""

    segment: Segment
    x: float
    width: float


def place(segments: Sequence[Segment], capacity: float, width: float) -> list[Placed]:
    """Segments side by side, 2 px apart, with what is free as the last one.

    The full width is the capacity, or what is needed where that is more. Raises ValueError for a capacity of zero.
    """
    if capacity <= 0:
        raise ValueError("A memory bar needs a capacity above zero.")
    used = sum(segment.size for segment in segments)
    shown = [segment for segment in segments if segment.size > 0]
    if used < capacity:
        shown.append(Segment("free", capacity - used))
    scale = width / max(capacity, used)
    placed, start = [], 0.0
    for segment in shown:
        end = start + segment.size * scale
        right = end if segment is shown[-1] else end - _GAP
        placed.append(Placed(segment, start, max(1.0, right - start)))
        start = end
    return placed


class MemoryBar(QWidget):
    """Painted bar. ← and → move a focus between segments; the tooltip of each tells its size and formula."""

    def __init__(
        self, name: str, *, height: int = 24, place_name: str = "", labels: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._name, self._height, self._place_name, self._labels = name, height, place_name, labels
        self._segments: tuple[Segment, ...] = ()
        self._capacity, self._usable = 1.0, 1.0
        self._focused = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)

    def set_memory(self, segments: Sequence[Segment], capacity: float, usable: float | None = None) -> None:
        """Show bytes of `segments` against `capacity`; `usable` is capacity less what other programs hold."""
        self._segments = tuple(segments)
        self._capacity = capacity
        self._usable = capacity if usable is None else usable
        self._focused = -1
        self.setAccessibleDescription(self._spoken())
        self.updateGeometry()
        self.update()

    @property
    def used(self) -> float:
        """Bytes of all segments."""
        return sum(segment.size for segment in self._segments)

    @property
    def over(self) -> float:
        """Bytes past the capacity, 0 where it fits."""
        return max(0.0, self.used - self._capacity)

    def placed(self) -> list[Placed]:
        """Segments with their geometry at the present width."""
        return place(self._segments, self._capacity, float(self.width()))

    def marker_x(self) -> float:
        """Where a marker stands: the limit if over it, else where 10 % of the usable capacity is left."""
        scale = self.width() / max(self._capacity, self.used)
        limit = self._capacity if self.over else self._capacity - TIGHT_SHARE * self._usable
        return limit * scale

    def sizeHint(self) -> QSize:
        """The bar, and a line of text below where it is over."""
        theme = themes.current()
        return QSize(240, theme.px(self._height) + (theme.px(18) if self.over else 0))

    def minimumSizeHint(self) -> QSize:
        """Narrow is possible; the height is fixed."""
        return QSize(80, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Segments, labels where they fit, the marker."""
        theme = themes.current()
        painter = QPainter(self)
        height = float(theme.px(self._height))
        for index, placed in enumerate(self.placed()):
            rect = QRectF(placed.x, 0, placed.width, height)
            paint_category(painter, rect, placed.segment.category, theme)
            if self._labels and height >= 20:
                self._paint_label(painter, rect, placed.segment, theme)
            if index == self._focused and self.hasFocus():
                rounded(painter, rect, 3, None, theme.color("ac"), 2)
        self._paint_marker(painter, height, theme)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Tooltips belong to segments."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            for placed in self.placed():
                if placed.x <= event.pos().x() <= placed.x + placed.width + _GAP:
                    QToolTip.showText(event.globalPos(), self._tip(placed.segment), self)
                    return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """← and → move between segments and show their tooltip."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        placed = self.placed()
        if not step or not placed:
            super().keyPressEvent(event)
            return
        self._focused = min(max(self._focused + step, 0), len(placed) - 1)
        here = placed[self._focused]
        tip = self._tip(here.segment)
        self.setAccessibleDescription(tip)
        QToolTip.showText(self.mapToGlobal(QPointF(here.x, self.height()).toPoint()), tip, self)
        self.update()

    def _paint_label(self, painter: QPainter, rect: QRectF, segment: Segment, theme: Theme) -> None:
        value = number(segment.size / GIB, 1)
        name = category_label(segment.category).capitalize()
        texts = {"free": [tr("{size} free", size=value)], "weights": [f"{name} {value}", value]}
        font = text_font(theme.px(12), 600)
        painter.setFont(font)
        for text in texts.get(segment.category, [value]):
            wide = text_width(font, text)
            if wide + 12 <= rect.width():
                plain = segment.category in ("free", "other")
                colour = theme.color("bg2") if plain else theme.color(f"m{_slot(segment.category)}")
                middle = self._clear_of_marker(rect, wide)
                patch = QRectF(middle - wide / 2 - 4, rect.y() + 3, wide + 8, rect.height() - 6)
                if segment.category != "weights":
                    rounded(painter, patch, 3, colour)
                painter.setPen(theme.color("tx2" if plain else "segment_text"))
                painter.drawText(patch, Qt.AlignmentFlag.AlignCenter, text)
                return

    def _clear_of_marker(self, rect: QRectF, wide: float) -> float:
        """The middle of a label of `wide` px in `rect`: moved to the roomier side where the marker would cross it."""
        marker, middle = self.marker_x(), rect.center().x()
        if self.over or abs(marker - middle) > wide / 2 + 6:
            return middle
        left, right = (rect.left() + marker) / 2, (marker + rect.right()) / 2
        return right if rect.right() - marker >= wide + 12 or right - marker > marker - left else left

    def _paint_marker(self, painter: QPainter, height: float, theme: Theme) -> None:
        x = self.marker_x()
        if not self.over:
            if height >= 20:
                painter.setPen(QPen(theme.color("bg2"), 4))
                painter.drawLine(QPointF(x, 0), QPointF(x, height))
                painter.setPen(QPen(theme.color("tx1"), 2))
                painter.drawLine(QPointF(x, 0), QPointF(x, height))
            return
        painter.setPen(QPen(theme.color("bad"), 2))
        painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))
        painter.setFont(text_font(theme.px(12), 500))
        left = memory(self._capacity)
        if self._place_name:
            left = tr("{size} in {place}", size=left, place=self._place_name)
        right = tr("{size} over", size=memory(self.over))
        line = QRectF(0, height, x - 6, self.height() - height)
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, left)
        line = QRectF(x + 6, height, self.width() - x - 6, self.height() - height)
        if text_width(painter.font(), right) > line.width():
            line, right = QRectF(0, height, self.width(), 0), ""
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, right)

    def _tip(self, segment: Segment) -> str:
        text = f"{category_label(segment.category).capitalize()}: {memory(segment.size)}"
        return f"{text}\n{segment.detail}" if segment.detail else text

    def _spoken(self) -> str:
        parts = [f"{category_label(segment.category)} {memory(segment.size)}" for segment in self._segments]
        of = tr("{used} of {total}", used=memory(self.used), total=memory(self._capacity))
        return ", ".join([of, *parts])


class MemoryLegend(QWidget):
    """One swatch of a category with its word."""

    def __init__(self, category: Category, text: str | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._category: Category = category
        self._text = category_label(category) if text is None else text
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Swatch, gap, word."""
        theme = themes.current()
        return QSize(theme.px(12) + 6 + round(text_width(text_font(theme.px(12)), self._text)) + 2, theme.px(16))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The swatch and the word."""
        theme = themes.current()
        painter = QPainter(self)
        side = theme.px(12)
        paint_category(painter, QRectF(0, (self.height() - side) / 2, side, side), self._category, theme, 2)
        painter.setFont(text_font(theme.px(12)))
        painter.setPen(theme.color("tx2"))
        box = QRectF(side + 6, 0, self.width(), self.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, self._text)
        painter.end()


def _slot(category: Category) -> int:
    return ("weights", "adapters", "gradients", "optimizer", "activations", "workspace").index(category) + 1
