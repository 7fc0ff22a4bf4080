"""A row as the engine sees it: every token, whether it is learnt from, and where it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from ui import theme as themes
from ui.fonts import mono_font, text_font
from ui.format import number
from ui.theme import Theme
from ui.tr import tr
from ui.widgets.painting import rounded, text_width
from ui.widgets.token_layout import Box, Fold, Token, lay_out

Mode = Literal["tokens", "text", "ids"]
_LINE = 20
_PADDING = 8


class TokenMicroscope(QAbstractScrollArea):
    """Trained = blue tint and underline, read only = grey, special = violet outline, cut = struck through.

    `current_changed` carries the index of the token that was pointed at. Keys: ← → token, ↑ ↓ line, F opens a fold.
    """

    current_changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens: tuple[Token, ...] = ()
        self._folds: list[Fold] = []
        self._boxes: list[Box] = []
        self._mode: Mode = "tokens"
        self._current = -1
        self.setAccessibleName(tr("Token microscope"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setProperty("card", "well")
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)

    def set_tokens(self, tokens: Sequence[Token], folds: Sequence[Fold] = ()) -> None:
        """Show a row; `folds` start closed."""
        self._tokens, self._folds = tuple(tokens), list(folds)
        self._current = 0 if tokens else -1
        self._lay_out()
        self.verticalScrollBar().setValue(0)
        self._announce()

    def set_mode(self, mode: Mode) -> None:
        """Tokens with their marks, running text, or ids."""
        self._mode = mode
        self._lay_out()

    @property
    def current(self) -> int:
        """The index of the token that is looked at, -1 without tokens."""
        return self._current

    def describe(self, index: int) -> str:
        """The token card in words: text, id, whether it is in the loss."""
        token = self._tokens[index]
        where = tr("cut off") if token.cut else tr("in the loss, weight {weight}", weight=number(token.weight, 1))
        place = where if token.trained or token.cut else tr("read only")
        return tr(
            "Token {index} “{text}” · id {id} · {place}", index=index, text=token.visible, id=token.id, place=place
        )

    def boxes(self) -> Sequence[Box]:
        """Where everything lies, for tests."""
        return self._boxes

    def set_current(self, index: int) -> None:
        """Look at a token and bring it into view."""
        if not 0 <= index < len(self._tokens):
            return
        self._current = index
        box = self._box_of(index)
        if box is not None:
            bar, top = self.verticalScrollBar(), box.line * self._line_height()
            if top < bar.value():
                bar.setValue(top)
            elif top + self._line_height() > bar.value() + self.viewport().height() - 2 * _PADDING:
                bar.setValue(top + self._line_height() - self.viewport().height() + 2 * _PADDING)
        self._announce()
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move, F opens the fold."""
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._step(-1 if key == Qt.Key.Key_Left else 1)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._step_line(-1 if key == Qt.Key.Key_Up else 1)
        elif key == Qt.Key.Key_F:
            box = self._box_of(self._current)
            if box is not None and box.fold is not None:
                self._unfold(box.fold)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click looks at a token, or opens a fold."""
        box = self._box_at(event.position())
        if box is None:
            return
        if box.fold is not None:
            self._unfold(box.fold)
        else:
            self.set_current(box.index)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Hover looks at a token."""
        box = self._box_at(event.position())
        if box is not None and box.fold is None and box.index != self._current:
            self._current = box.index
            self._announce()
            self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lines are wrapped anew."""
        super().resizeEvent(event)
        self._lay_out()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The lines that can be seen."""
        theme = themes.current()
        painter = QPainter(self.viewport())
        height, scroll = self._line_height(), self.verticalScrollBar().value()
        painter.translate(_PADDING, _PADDING - scroll)
        font = mono_font(theme.px(12))
        first, last = scroll // height - 1, (scroll + self.viewport().height()) // height + 1
        limit = next((index for index, token in enumerate(self._tokens) if token.cut), None)
        for box in self._boxes:
            if not first <= box.line <= last:
                continue
            rect = QRectF(box.x, box.line * height + 1, box.width, height - 2)
            if box.fold is not None:
                self._paint_fold(painter, rect, box, theme)
                continue
            painter.setFont(font)
            self._paint_token(painter, rect, box, theme)
            if box.index == limit:
                painter.fillRect(QRectF(rect.x() - 1, rect.y() - 1, 2, rect.height() + 2), theme.color("warn"))
        painter.end()

    def _paint_token(self, painter: QPainter, rect: QRectF, box: Box, theme: Theme) -> None:
        token = self._tokens[box.index]
        marks = self._mode != "text"
        if token.trained:
            tint = QColor(theme.ac)
            tint.setAlphaF(0.22)
            rounded(painter, rect.adjusted(0, 0, -1, 0), 2, tint)
            painter.fillRect(QRectF(rect.x(), rect.bottom() - 1, rect.width() - 1, 2), theme.color("ac"))
        elif marks and not token.cut and not token.special:
            rounded(painter, rect.adjusted(0, 0, -1, 0), 2, theme.color("bg3"))
        if token.special and marks and not token.cut:
            rounded(painter, rect.adjusted(0, 0, -2, 0), 2, None, theme.color("s4"))
        painter.setPen(theme.color("tx3" if token.cut else "tx1" if token.trained else "tx2"))
        inset = 3 if token.special else 0
        painter.drawText(rect.adjusted(inset, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, box.text)
        if token.cut:
            middle = rect.center().y()
            painter.drawLine(QPointF(rect.x(), middle), QPointF(rect.right(), middle))
        if box.index == self._current and self.hasFocus():
            rounded(painter, rect, 2, None, theme.color("ac"), 2)

    def _paint_fold(self, painter: QPainter, rect: QRectF, box: Box, theme: Theme) -> None:
        font = text_font(theme.px(12))
        wide = text_width(font, box.text)
        painter.setPen(QPen(theme.color("line2"), 1, Qt.PenStyle.DashLine))
        middle = rect.center().y()
        painter.drawLine(QPointF(rect.x(), middle), QPointF(rect.center().x() - wide / 2 - 8, middle))
        painter.drawLine(QPointF(rect.center().x() + wide / 2 + 8, middle), QPointF(rect.right(), middle))
        painter.setFont(font)
        painter.setPen(theme.color("ac-tx" if box.index == self._current else "tx3"))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, box.text)

    def _lay_out(self) -> None:
        theme = themes.current()
        advance = text_width(mono_font(theme.px(12)), "0" * 100) / 100

        def measure(text: str) -> float:
            return len(text) * advance if text.isascii() else text_width(mono_font(theme.px(12)), text)

        def word(token: Token) -> str:
            return f"{token.id} " if self._mode == "ids" else token.visible

        room = max(40.0, self.viewport().width() - 2 * _PADDING)
        self._boxes = lay_out(self._tokens, self._folds, room, measure, word)
        lines = self._boxes[-1].line + 1 if self._boxes else 0
        high = lines * self._line_height() + 2 * _PADDING
        self.verticalScrollBar().setRange(0, max(0, high - self.viewport().height()))
        self.verticalScrollBar().setPageStep(self.viewport().height())
        self.verticalScrollBar().setSingleStep(self._line_height())
        self.viewport().update()

    def _line_height(self) -> int:
        return themes.current().px(_LINE)

    def _box_of(self, index: int) -> Box | None:
        inside = [box for box in self._boxes if box.fold is not None and box.fold.start <= index < box.fold.end]
        return inside[0] if inside else next((box for box in self._boxes if box.index == index), None)

    def _box_at(self, point: QPointF) -> Box | None:
        line = int((point.y() - _PADDING + self.verticalScrollBar().value()) // self._line_height())
        x = point.x() - _PADDING
        return next((box for box in self._boxes if box.line == line and box.x <= x < box.x + box.width), None)

    def _step(self, by: int) -> None:
        here = self._box_of(self._current)
        if here is not None:
            at = self._boxes.index(here) + by
            if 0 <= at < len(self._boxes):
                self.set_current(self._boxes[at].index)

    def _step_line(self, by: int) -> None:
        here = self._box_of(self._current)
        if here is None:
            return
        others = [box for box in self._boxes if box.line == here.line + by]
        if others:
            self.set_current(min(others, key=lambda box: abs(box.x - here.x)).index)

    def _unfold(self, fold: Fold) -> None:
        self._folds.remove(fold)
        self._lay_out()

    def _announce(self) -> None:
        if self._current >= 0:
            self.setAccessibleDescription(self.describe(self._current))
            self.current_changed.emit(self._current)
