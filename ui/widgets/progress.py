"""Progress bars, 6 to 8 px high, with checkpoints as notches."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QWidget

from ui import theme as themes
from ui.widgets.painting import rounded

_STEPS = 10_000


class Progress(QProgressBar):
    """A thin bar; the text always stands beside it, never in it. `notch_clicked` carries the notch's fraction."""

    notch_clicked = Signal(float)

    def __init__(self, name: str, height: int = 6, *, token: str = "ac", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setRange(0, _STEPS)
        self.setTextVisible(False)
        self._height, self._token = height, token
        self._notches: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def fraction(self) -> float:
        """What is done, 0 to 1."""
        return max(0, self.value()) / _STEPS

    def set_fraction(self, fraction: float, spoken: str = "") -> None:
        """Show `fraction` (0 to 1); `spoken` is the value in words for screen readers."""
        self.setValue(round(min(1.0, max(0.0, fraction)) * _STEPS))
        self.setAccessibleDescription(spoken)
        self.update()

    def set_token(self, token: str) -> None:
        """Fill with another theme colour: `ac`, `good`, `bad`."""
        self._token = token
        self.update()

    def set_notches(self, fractions: Iterable[float]) -> None:
        """Where the checkpoints lie, each 0 to 1."""
        self._notches = tuple(fractions)
        self.update()

    def sizeHint(self) -> QSize:
        """Thin, and as wide as there is room."""
        return QSize(120, themes.current().px(self._height))

    def minimumSizeHint(self) -> QSize:
        """Thin."""
        return QSize(24, themes.current().px(self._height))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click near a notch picks it."""
        if self._notches:
            at = event.position().x() / max(1, self.width())
            nearest = min(self._notches, key=lambda notch: abs(notch - at))
            if abs(nearest - at) * self.width() <= 12:
                self.notch_clicked.emit(nearest)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Track, done part, notches as gaps."""
        theme = themes.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = min(self.height(), theme.px(self._height))
        track = QRectF(0, (self.height() - height) / 2, self.width(), height)
        rounded(painter, track, 3, theme.color("bg4"))
        if self.fraction > 0:
            done = QRectF(track.x(), track.y(), max(4.0, track.width() * self.fraction), height)
            rounded(painter, done, 3, theme.color(self._token))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("bg1"))
        for notch in self._notches:
            x = QPointF(track.width() * notch, track.y())
            painter.drawRect(QRectF(x.x() - 0.75, x.y(), 1.5, height))
        painter.end()
