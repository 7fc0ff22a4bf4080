"""How long rows are, and what the sequence length cuts: bars, and a line that can be dragged."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.format import number
from ui.theme import Theme
from ui.tr import tr
from ui.widgets.painting import rounded, text_width

STEP = 64
_LEFT, _TOP, _BOTTOM = 44, 26, 20


class LengthHistogram(QWidget):
    """Rows per bin on a square-root scale. `dragged` carries the limit while it moves, `limit_set` when it rests.

    The limit snaps to 64 tokens; ← and → move it by that, Home and End to the ends.
    """

    dragged = Signal(int)
    limit_set = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._counts: tuple[int, ...] = ()
        self._bin = 128
        self._limit = 2048
        self._cut_text, self._cut_detail = "", ""
        self._dragging = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Row length"))

    def set_counts(self, counts: Sequence[int], bin_width: int) -> None:
        """Rows in each bin of `bin_width` tokens, from zero up."""
        self._counts, self._bin = tuple(counts), bin_width
        self._describe()

    def set_limit(self, limit: int, cut_text: str = "", cut_detail: str = "") -> None:
        """The sequence length, and in words what it cuts."""
        self._limit, self._cut_text, self._cut_detail = limit, cut_text, cut_detail
        self._describe()

    @property
    def limit(self) -> int:
        """The sequence length that the line stands at."""
        return self._limit

    @property
    def span(self) -> int:
        """Tokens at the right edge of the axis."""
        return max(self._bin * len(self._counts), self._limit + self._bin, self._bin)

    def plot_rect(self) -> QRectF:
        """Where bars are drawn."""
        return QRectF(_LEFT, _TOP, max(1, self.width() - _LEFT - 24), max(1, self.height() - _TOP - _BOTTOM))

    def x_of(self, tokens: float) -> float:
        """Length in tokens → x in px."""
        rect = self.plot_rect()
        return rect.x() + rect.width() * tokens / self.span

    def bar_height(self, count: int) -> float:
        """Rows → px, by square root, so that a few long rows can be seen beside many short ones."""
        return self.plot_rect().height() * math.sqrt(count / max(1, *self._counts, 1))

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(480, 200)

    def minimumSizeHint(self) -> QSize:
        """Still readable."""
        return QSize(220, 120)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys move the limit by 64 tokens."""
        steps = {Qt.Key.Key_Left: -STEP, Qt.Key.Key_Right: STEP}
        key = Qt.Key(event.key())
        if key in steps:
            self._move(self._limit + steps[key])
        elif key == Qt.Key.Key_Home:
            self._move(STEP)
        elif key == Qt.Key.Key_End:
            self._move(self._bin * len(self._counts))
        else:
            super().keyPressEvent(event)
            return
        self.limit_set.emit(self._limit)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the line, or bring it here."""
        self._dragging = True
        self._move(self._tokens_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the line; the pointer says that it can be taken."""
        near = abs(event.position().x() - self.x_of(self._limit)) <= 12
        self.setCursor(Qt.CursorShape.SizeHorCursor if near or self._dragging else Qt.CursorShape.ArrowCursor)
        if self._dragging:
            self._move(self._tokens_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go of the line."""
        if self._dragging:
            self._dragging = False
            self.limit_set.emit(self._limit)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Grid, bars, the line and its handle."""
        theme = themes.current()
        painter = QPainter(self)
        self._paint_axes(painter, theme)
        rect = self.plot_rect()
        for index, count in enumerate(self._counts):
            if count:
                left, right = self.x_of(index * self._bin), self.x_of((index + 1) * self._bin)
                height = max(1.0, self.bar_height(count))
                bar = QRectF(left + 0.5, rect.bottom() - height, max(1.0, right - left - 1), height)
                painter.fillRect(bar, theme.color("s1"))
                cut = bar.intersected(QRectF(self.x_of(self._limit), 0, self.width(), self.height()))
                if not cut.isEmpty():  # the bin that the limit goes through is cut where the limit is
                    painter.fillRect(cut, theme.color("warn"))
                    if theme.patterns:
                        self._hatch(painter, cut, theme)
        self._paint_limit(painter, rect, theme)
        painter.end()

    def _paint_axes(self, painter: QPainter, theme: Theme) -> None:
        rect = self.plot_rect()
        painter.setFont(text_font(theme.px(11)))
        highest = max(1, *self._counts, 1)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            y = rect.bottom() - rect.height() * share
            painter.setPen(theme.color("grid"))
            painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y))
            painter.setPen(theme.color("axis"))
            align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, y - 8, _LEFT - 6, 16), align, number(round(highest * share * share)))
        ticks = 8 if rect.width() > 420 else 4
        for tick in range(ticks + 1):
            tokens = self.span * tick / ticks
            x = self.x_of(tokens)
            painter.drawText(QRectF(x - 30, rect.bottom() + 3, 60, 16), Qt.AlignmentFlag.AlignCenter, number(tokens))

    def _hatch(self, painter: QPainter, bar: QRectF, theme: Theme) -> None:
        painter.save()
        painter.setClipRect(bar)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = theme.color("hatch")
        ink.setAlphaF(theme.hatch_alpha)
        painter.setPen(QPen(ink, 2))
        x = bar.left() - bar.height()
        while x < bar.right():
            painter.drawLine(QPointF(x, bar.bottom()), QPointF(x + bar.height(), bar.top()))
            x += 7
        painter.restore()

    def _paint_limit(self, painter: QPainter, rect: QRectF, theme: Theme) -> None:
        x = self.x_of(self._limit)
        painter.setPen(QPen(theme.color("tx1"), 2))
        painter.drawLine(QPointF(x, rect.top() - 4), QPointF(x, rect.bottom()))
        font = text_font(theme.px(12), 600)
        text = tr("◂ {count} tokens ▸", count=number(self._limit))
        wide = text_width(font, text) + 16
        left = min(max(0.0, x - wide / 2), self.width() - wide)
        handle = QRectF(left, 0, wide, 20)
        rounded(painter, handle, 4, theme.color("ac"))
        painter.setFont(font)
        painter.setPen(theme.color("on-ac"))
        painter.drawText(handle, Qt.AlignmentFlag.AlignCenter, text)
        for line, (words, tone) in enumerate(((self._cut_text, "warn"), (self._cut_detail, "tx2"))):
            font = text_font(theme.px(12), 600 if line == 0 else 400)
            painter.setFont(font)
            wide = text_width(font, words)
            at = x + 10 if x + 10 + wide < self.width() else x - 10 - wide
            if words:  # bars may stand behind it
                rounded(painter, QRectF(at - 4, rect.top() + 1 + 16 * line, wide + 8, 16), 3, theme.color("bg2"))
            painter.setPen(theme.color(tone))
            painter.drawText(QPointF(at, rect.top() + 14 + 16 * line), words)

    def _tokens_at(self, x: float) -> float:
        rect = self.plot_rect()
        return self.span * (x - rect.x()) / rect.width()

    def _move(self, tokens: float) -> None:
        limit = max(STEP, round(tokens / STEP) * STEP)
        if limit != self._limit:
            self._limit = limit
            self._describe()
            self.dragged.emit(limit)

    def _describe(self) -> None:
        kept = sum(count for index, count in enumerate(self._counts) if index * self._bin < self._limit)
        cut = sum(self._counts) - kept
        self.setAccessibleDescription(
            tr("Limit {limit} tokens. {kept} rows below, {cut} rows above.", limit=number(self._limit),
               kept=number(kept), cut=number(cut))
        )  # fmt: skip
        self.update()
