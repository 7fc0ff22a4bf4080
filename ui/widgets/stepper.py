"""The wizard's steps: number or tick, name, and one line that says what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.tr import tr
from ui.widgets.painting import rounded, text_width

StepState = Literal["todo", "current", "done", "blocked"]


class Step(QAbstractButton):
    """One step, 52 px high."""

    def __init__(self, number: int, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = number
        self._state: StepState = "todo"
        self._summary = ""
        self.setText(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_state("todo", "")

    @property
    def state(self) -> StepState:
        """The state that is shown."""
        return self._state

    def set_state(self, state: StepState, summary: str) -> None:
        """Show a state and the line below the name."""
        self._state, self._summary = state, summary
        words = {"todo": tr("to do"), "current": tr("current"), "done": tr("done"), "blocked": tr("blocked")}[state]
        self.setAccessibleName(tr("Step {number}, {name}", number=self._number, name=self.text()))
        self.setAccessibleDescription(f"{words}. {summary}")
        self.setToolTip(summary)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Disc, gap, the longer of the two lines."""
        theme = themes.current()
        name = text_width(text_font(theme.px(13), 600), self.text())
        summary = min(text_width(text_font(theme.px(12)), self._summary), 260)
        return QSize(round(theme.px(22) + 10 + max(name, summary)) + 10, theme.px(52))

    def minimumSizeHint(self) -> QSize:
        """The disc and some of the name."""
        return QSize(80, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Disc, name, summary, underline."""
        theme = themes.current()
        painter = QPainter(self)
        self._paint_disc(painter)
        x = theme.px(22) + 10.0
        current = self._state == "current"
        width, middle = self.width() - x - 2, self.height() / 2
        painter.setFont(text_font(theme.px(13), 600 if current else 500))
        painter.setPen(theme.color("tx1" if current else "tx2"))
        painter.drawText(
            QRectF(x, middle - theme.px(16), width, theme.px(16)), Qt.AlignmentFlag.AlignVCenter, self.text()
        )
        font = text_font(theme.px(12))
        painter.setFont(font)
        painter.setPen(theme.color("bad" if self._state == "blocked" else "tx3"))
        summary = QFontMetrics(font).elidedText(self._summary, Qt.TextElideMode.ElideRight, round(width))
        painter.drawText(QRectF(x, middle, width, theme.px(16)), Qt.AlignmentFlag.AlignVCenter, summary)
        if current:
            painter.fillRect(QRectF(0, self.height() - 2, self.width() - 8, 2), theme.color("ac"))
        painter.end()

    def _paint_disc(self, painter: QPainter) -> None:
        theme = themes.current()
        side = float(theme.px(22))
        disc = QRectF(0, (self.height() - side) / 2, side, side)
        fill, outline, ink = {
            "todo": (None, "ctl", "tx2"),
            "current": ("ac", "ac", "on-ac"),
            "done": ("good-soft", "good", "good"),
            "blocked": ("bad-soft", "bad", "bad"),
        }[self._state]
        rounded(painter, disc, side / 2, theme.color(fill) if fill else None, theme.color(outline), 1.5)
        if self._state in ("done", "blocked"):
            inner = disc.adjusted(4.5, 4.5, -4.5, -4.5)
            paint_icon(painter, inner, "check" if self._state == "done" else "cross", ink)
            return
        painter.setFont(text_font(theme.px(12), 600))
        painter.setPen(theme.color(ink))
        painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, str(self._number))


class Stepper(QWidget):
    """Steps in a row, reachable in any order; `picked` carries the index. Widgets can be added at the right."""

    picked = Signal(int)

    def __init__(self, names: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.steps: list[Step] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(20, 0, 20, 0)
        self._row.setSpacing(0)
        for index, name in enumerate(names):
            if index:
                self._row.addSpacing(4)
                self._row.addWidget(_Line(self))
                self._row.addSpacing(12)
            step = Step(index + 1, name, self)
            step.clicked.connect(lambda _checked=False, index=index: self.picked.emit(index))
            self.steps.append(step)
            self._row.addWidget(step)
        self._row.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_step(self, index: int, state: StepState, summary: str) -> None:
        """Show the state and the choice of one step."""
        self.steps[index].set_state(state, summary)

    def add_widget(self, widget: QWidget) -> None:
        """Put a widget at the right end."""
        self._row.addWidget(widget)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The divider below."""
        painter = QPainter(self)
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), themes.current().color("line"))
        painter.end()


class _Line(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedWidth(36)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(QRectF(0, self.height() // 2, self.width(), 1), themes.current().color("line2"))
        painter.end()
