"""The values under a chart's crosshair."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from ui import theme as themes


class Readout(QLabel):
    """The values under the crosshair; flips to the other side near the right edge."""

    def __init__(self, plot: QWidget) -> None:
        super().__init__(plot)
        self._plot = plot
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setVisible(False)

    def show_values(self, heading: str, rows: Sequence[tuple[str, str]]) -> None:
        """A heading and rows of name and value."""
        theme = themes.current()
        self.setStyleSheet(
            f"background: {theme.bg3}; border: 1px solid {theme.line2}; border-radius: 6px; padding: 6px;"
            f" font-size: {theme.px(12)}px;"
        )
        cells = "".join(
            f"<tr><td style='color:{theme.tx2}'>{escape(name)}</td>"
            f"<td align='right' style='padding-left:24px'><b>{escape(value)}</b></td></tr>"
            for name, value in rows
        )
        self.setText(f"<b>{escape(heading)}</b><table cellspacing='0' cellpadding='1'>{cells}</table>")
        self.setAccessibleName(", ".join([heading, *(f"{name} {value}" for name, value in rows)]))
        self.adjustSize()

    def place(self, x: float) -> None:
        """Beside the crosshair at `x` px of the plot."""
        left = round(x) + 12
        if left + self.width() > self._plot.width() - 4:
            left = round(x) - 12 - self.width()
        self.move(max(0, left), 12)
        self.raise_()
