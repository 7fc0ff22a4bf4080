"""What the marks of the token microscope mean."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import mono_font, text_font
from ui.tr import tr
from ui.widgets.painting import rounded, text_width

_SAMPLE = "abc"


class TokenLegend(QWidget):
    """Trained, read only, special, cut off."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._marks = (
            ("trained", tr("trained (in the loss)")), ("read", tr("read only")), ("special", tr("special")),
            ("cut", tr("cut off")),
        )  # fmt: skip
        self.setAccessibleName(tr("Marks: trained, read only, special, cut off"))

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(360, themes.current().px(20))

    def minimumSizeHint(self) -> QSize:
        """It may be cut at the right."""
        return QSize(120, themes.current().px(20))

    def paintEvent(self, event: QPaintEvent) -> None:
        """A sample and its meaning, four times."""
        theme = themes.current()
        painter = QPainter(self)
        mono, text = mono_font(theme.px(12)), text_font(theme.px(12))
        wide, x = text_width(mono, _SAMPLE), 0.0
        for mark, meaning in self._marks:
            rect = QRectF(x + 3, 2, wide, self.height() - 4)
            if mark == "trained":
                tint = QColor(theme.ac)
                tint.setAlphaF(0.22)
                rounded(painter, rect.adjusted(-3, 0, 3, 0), 2, tint)
                painter.fillRect(QRectF(rect.x() - 3, rect.bottom() - 1, rect.width() + 6, 2), theme.color("ac"))
            elif mark == "read":
                rounded(painter, rect.adjusted(-3, 0, 3, 0), 2, theme.color("bg3"))
            elif mark == "special":
                rounded(painter, rect.adjusted(-3, 0, 3, 0), 2, None, theme.color("s4"))
            painter.setFont(mono)
            painter.setPen(theme.color("tx3" if mark == "cut" else "tx1" if mark == "trained" else "tx2"))
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, _SAMPLE)
            if mark == "cut":
                middle = rect.center().y()
                painter.drawLine(QPointF(rect.x(), middle), QPointF(rect.right(), middle))
            painter.setFont(text)
            painter.setPen(theme.color("tx2"))
            x += wide + 12
            painter.drawText(QRectF(x, 0, self.width() - x, self.height()), Qt.AlignmentFlag.AlignVCenter, meaning)
            x += text_width(text, meaning) + 16
        painter.end()
