"""The legend of a chart: a sample of each series, which hides or shows it."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.tr import tr
from ui.widgets.chart_pens import paint_series_sample
from ui.widgets.painting import text_width

Kind = Literal["line", "smoothed", "evaluation"]


class LegendEntry(QToolButton):
    """A sample of the series and its label; pressing it hides or shows the series."""

    def __init__(self, label: str, slot: int, kind: Kind = "line", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slot, self._kind = slot, kind
        self.setText(label)
        self.setAccessibleName(label)
        self.setToolTip(tr("Show or hide {label}", label=label))
        self.setCheckable(True)
        self.setChecked(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Sample, gap, label; 24 px to hit."""
        theme = themes.current()
        return QSize(26 + 5 + round(text_width(text_font(theme.px(12)), self.text())) + 2, max(24, theme.px(16)))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The sample and the label, faint when hidden."""
        theme = themes.current()
        painter = QPainter(self)
        painter.setOpacity(1.0 if self.isChecked() else 0.45)
        rect = QRectF(0, 0, 26, self.height())
        paint_series_sample(painter, rect, theme, self._slot, marker=self._kind == "evaluation")
        painter.setFont(text_font(theme.px(12)))
        painter.setPen(theme.color("tx2"))
        painter.drawText(QRectF(31, 0, self.width() - 31, self.height()), Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()
