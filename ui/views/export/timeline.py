"""Checkpoints along the run: evaluation loss over steps; filled where the files stand, hollow where they are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.format import loss, number
from ui.icons import paint_icon
from ui.theme import Theme
from ui.tr import tr
from ui.widgets.painting import rounded, text_width

_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 28, 34, 22
_REACH = 14


@dataclass(frozen=True)
class Mark:
    """One checkpoint. `kept`: its files are there."""

    step: int
    evaluation_loss: float | None
    kept: bool
    best: bool = False
    last: bool = False


class CheckpointTimeline(QWidget):
    """`picked` carries the step of a kept checkpoint that the user chose. ← and → go to the neighbours."""

    picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.marks: tuple[Mark, ...] = ()
        self._step: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Checkpoints"))

    @property
    def step(self) -> int | None:
        """The chosen step."""
        return self._step

    def set_marks(self, marks: Sequence[Mark], step: int | None) -> None:
        """Show these checkpoints, by step, with one of them chosen."""
        self.marks, self._step = tuple(marks), step
        self._describe()
        self.update()

    def step_by(self, by: int) -> None:
        """Choose the kept checkpoint `by` places further."""
        kept = [mark.step for mark in self.marks if mark.kept]
        if self._step in kept and 0 <= (index := kept.index(self._step) + by) < len(kept):
            self._pick(kept[index])

    def sizeHint(self) -> QSize:
        """As wide as there is room, 128 px high."""
        return QSize(400, themes.current().px(128))

    def minimumSizeHint(self) -> QSize:
        """Room for a few points."""
        return QSize(200, themes.current().px(128))

    def describe(self, mark: Mark) -> str:
        """A checkpoint in words."""
        parts = [tr("Step {step}", step=number(mark.step))]
        if mark.evaluation_loss is not None:
            parts.append(tr("evaluation loss {loss}", loss=loss(mark.evaluation_loss)))
        parts += [tr("best")] if mark.best else []
        parts += [tr("last")] if mark.last else []
        parts += [] if mark.kept else [tr("files removed by the keeping rule")]
        return ", ".join(parts)

    def centre(self, mark: Mark) -> QPointF:
        """Where a checkpoint is drawn."""
        steps = [other.step for other in self.marks]
        first, span = min(steps), max(1, max(steps) - min(steps))
        width = self.width() - self._px(_LEFT) - self._px(_RIGHT) - self._px(70)
        x = self._px(_LEFT) + self._px(30) + (width * (mark.step - first) / span if len(steps) > 1 else width / 2)
        low, high = self._range()
        top, bottom = self._px(_TOP), self.height() - self._px(_BOTTOM) - self._px(10)
        if mark.evaluation_loss is None:  # on the axis, where no value can be read into it
            judged = any(other.evaluation_loss is not None for other in self.marks)
            return QPointF(x, self.height() - self._px(_BOTTOM) if judged else (top + bottom) / 2)
        return QPointF(x, bottom - (bottom - top) * (mark.evaluation_loss - low) / (high - low))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """← and → choose the neighbour, Home and End the first and last."""
        kept = [mark.step for mark in self.marks if mark.kept]
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: -1}.get(Qt.Key(event.key()))
        if by is not None:
            self.step_by(by)
        elif ends is not None and kept:
            self._pick(kept[ends])
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click picks the nearest kept checkpoint."""
        mark = self._at(event.position())
        if mark is not None and mark.kept:
            self._pick(mark.step)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A hand over what can be picked."""
        mark = self._at(event.position())
        hand = mark is not None and mark.kept
        self.setCursor(Qt.CursorShape.PointingHandCursor if hand else Qt.CursorShape.ArrowCursor)

    def event(self, event: QEvent) -> bool:
        """Each point explains itself."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            mark = self._at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.describe(mark) if mark else "", self)
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The ring of the chosen point shows."""
        super().focusInEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Grid, line, points, labels, and the flag of the best."""
        if not self.marks:
            return
        theme = themes.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_grid(painter, theme)
        judged = [self.centre(mark) for mark in self.marks if mark.evaluation_loss is not None]
        painter.setPen(QPen(theme.color("s1"), 2))
        painter.drawPolyline(QPolygonF(judged))
        self._paint_flag(painter, theme)
        for mark in self.marks:
            self._paint_point(painter, theme, mark)
        self._paint_labels(painter, theme)
        painter.end()

    def _paint_grid(self, painter: QPainter, theme: Theme) -> None:
        painter.setFont(text_font(theme.px(11)))
        left, right = self._px(_LEFT), self.width() - self._px(_RIGHT)
        base = self.height() - self._px(_BOTTOM)
        low, high = self._range()
        painter.setPen(QPen(theme.color("line2"), 1))
        painter.drawLine(QPointF(left, base), QPointF(right, base))
        top, bottom = self._px(_TOP), base - self._px(10)
        judged = any(mark.evaluation_loss is not None for mark in self.marks)
        for share in (0.0, 0.5, 1.0) if judged else ():
            y = bottom - (bottom - top) * share
            painter.setPen(QPen(theme.color("grid"), 1))
            painter.drawLine(QPointF(left, y), QPointF(right, y))
            painter.setPen(theme.color("axis"))
            box = QRectF(0, y - 8, left - 8, 16)
            align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, align, loss(low + (high - low) * share))
        painter.setPen(theme.color("axis"))
        painter.drawText(QRectF(0, base, left - 8, self._px(_BOTTOM)), Qt.AlignmentFlag.AlignRight, tr("step"))

    def _paint_point(self, painter: QPainter, theme: Theme, mark: Mark) -> None:
        at, chosen = self.centre(mark), mark.step == self._step
        radius = 6.0 if chosen else 5.0
        if chosen and self.hasFocus():
            painter.setPen(QPen(theme.color("ac"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(at, radius + 4, radius + 4)
        painter.setPen(QPen(theme.color("tx1" if chosen else "s1"), 2))
        painter.setBrush(theme.color("s1") if mark.kept else theme.color("bg2"))
        painter.drawEllipse(at, radius, radius)

    def _paint_flag(self, painter: QPainter, theme: Theme) -> None:
        best = next((mark for mark in self.marks if mark.best), None)
        if best is None:
            return
        words = tr("Best") if best.evaluation_loss is None else tr("Best · {loss}", loss=loss(best.evaluation_loss))
        font, at, side = text_font(theme.px(12), 600), self.centre(best), self._px(12)
        width = text_width(font, words) + side + 28
        left = min(max(0.0, at.x() - width / 2), self.width() - width)
        box = QRectF(left, 1, width, self._px(20))
        painter.setPen(QPen(theme.color("ac"), 2))
        painter.drawLine(QPointF(at.x(), box.bottom()), at)
        rounded(painter, box, 4, theme.color("ac"))
        paint_icon(painter, QRectF(left + 11, box.center().y() - side / 2, side, side), "star", "on-ac", ground="ac")
        painter.setFont(font)
        painter.setPen(theme.color("on-ac"))
        painter.drawText(box.adjusted(side + 17, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, words)

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        """Losses above the points and steps below the axis, left out where they would lie on one another."""
        base = self.height() - self._px(_BOTTOM)
        free_above = free_below = -1.0
        first = [mark for mark in self.marks if mark.step == self._step]
        taken = [self.centre(mark).x() for mark in first]
        for mark in [*first, *(mark for mark in self.marks if mark.step != self._step)]:
            at, chosen = self.centre(mark), mark.step == self._step
            words = tr("{step}, last", step=number(mark.step)) if mark.last else number(mark.step)
            half = self._px(34 if mark.last else 24)
            near_chosen = not chosen and any(abs(at.x() - x) < half + self._px(24) for x in taken)
            painter.setFont(text_font(theme.px(11), 600 if chosen else 400))
            painter.setPen(theme.color("tx1" if chosen else "axis"))
            if chosen or (at.x() - half > free_below and not near_chosen):
                painter.drawText(QRectF(at.x() - 60, base + 3, 120, 18), Qt.AlignmentFlag.AlignHCenter, words)
                free_below = free_below if chosen else at.x() + half
            if mark.evaluation_loss is None or mark.best or at.x() - self._px(20) <= free_above:
                continue
            painter.setPen(theme.color("tx2"))
            painter.drawText(QRectF(at.x() - 60, at.y() - 24, 120, 16), Qt.AlignmentFlag.AlignHCenter,
                             loss(mark.evaluation_loss))  # fmt: skip
            free_above = free_above if chosen else at.x() + self._px(20)

    def _range(self) -> tuple[float, float]:
        values = [mark.evaluation_loss for mark in self.marks if mark.evaluation_loss is not None]
        if not values:
            return 0.0, 1.0
        low, high = min(values), max(values)
        return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)

    def _at(self, point: QPointF) -> Mark | None:
        near = [mark for mark in self.marks if abs(self.centre(mark).x() - point.x()) <= self._px(_REACH)]
        return min(near, key=lambda mark: abs(self.centre(mark).x() - point.x()), default=None)

    def _pick(self, step: int) -> None:
        if step != self._step:
            self._step = step
            self._describe()
            self.update()
            self.picked.emit(step)

    def _describe(self) -> None:
        chosen = next((mark for mark in self.marks if mark.step == self._step), None)
        self.setAccessibleDescription(self.describe(chosen) if chosen else "")

    def _px(self, length: float) -> int:
        return themes.current().px(length)
