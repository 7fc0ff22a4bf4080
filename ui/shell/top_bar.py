"""The bar at the top: brand, where we are, the command field, the machine, messages, and the theme."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.tr import tr
from ui.widgets.button import IconButton
from ui.widgets.painting import rounded, text_width
from ui.widgets.text import IconLabel, Text


class MachineChip(QPushButton):
    """The machine in a few words; opens the Doctor."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_machine("")

    def set_machine(self, text: str) -> None:
        """Show "RTX 6000 Ada · 48 GiB" or "No GPU · CPU"."""
        self.setText(text)
        self.setAccessibleName(tr("This machine: {machine}", machine=text) if text else tr("This machine"))
        self.setToolTip(tr("Open the Doctor"))
        self.setVisible(bool(text))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Icon and words."""
        theme = themes.current()
        return QSize(round(text_width(text_font(theme.px(12)), self.text())) + 32, max(24, theme.px(22)))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Outline, chip icon, words."""
        theme = themes.current()
        painter = QPainter(self)
        fill = theme.color("bg4") if self.underMouse() else None
        rounded(painter, QRectF(self.rect()).adjusted(0, 1, 0, -1), 4, fill, theme.color("line2"))
        paint_icon(painter, QRectF(6, (self.height() - 14) / 2, 14, 14), "chip", "tx2")
        painter.setFont(text_font(theme.px(12)))
        painter.setPen(theme.color("tx2"))
        box = QRectF(24, 0, self.width() - 28, self.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()


class Crumbs(QWidget):
    """Where we are, from the outside in; the last part is strong."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)

    def set_parts(self, parts: Sequence[str]) -> None:
        """Show `parts`."""
        while self._row.count():
            item = self._row.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            if index:
                self._row.addWidget(IconLabel("chevron-right", "tx3", 14))
            self._row.addWidget(
                Text(part, weight=600 if last else 400, tone="tx1" if last else "tx3", elide=last), int(last)
            )
        self.setAccessibleName(" › ".join(parts))


class TopBar(QWidget):
    """44 px. `theme_wanted`, `messages_wanted` and `machine_wanted` are its buttons."""

    theme_wanted = Signal()
    messages_wanted = Signal()
    machine_wanted = Signal()

    def __init__(self, command: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._command = command
        command.setParent(self)
        self.crumbs = Crumbs(self)
        self.machine = MachineChip(self)
        self.bell = IconButton("bell", tr("Messages"))
        self.theme_button = IconButton("moon", tr("Dark or light"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 12, 0)
        row.setSpacing(8)
        brand = IconLabel("brand", "ember", 24)
        self._brand = QWidget()
        holder = QHBoxLayout(self._brand)
        holder.setContentsMargins(0, 0, 0, 0)
        holder.addWidget(brand, 0, Qt.AlignmentFlag.AlignCenter)
        row.addWidget(self._brand)
        row.addSpacing(12)
        row.addWidget(self.crumbs, 1)
        row.addStretch(1)
        row.addWidget(self.machine)
        row.addWidget(self.bell)
        row.addWidget(self.theme_button)
        self.machine.clicked.connect(self.machine_wanted)
        self.bell.clicked.connect(self.messages_wanted)
        self.theme_button.clicked.connect(self.theme_wanted)
        self.follow_theme()

    def follow_theme(self) -> None:
        """Heights, and the sun or the moon."""
        theme = themes.current()
        self.setFixedHeight(theme.px(44))
        self._brand.setFixedWidth(theme.px(72))
        self.theme_button.set_icon("moon" if theme.name == "dark" else "sun")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The command field stands in the middle; narrower where there is no room."""
        super().resizeEvent(event)
        width = min(360, max(180, self.width() - 700))
        height = themes.current().px(28)
        self._command.setGeometry((self.width() - width) // 2, (self.height() - height) // 2, width, height)
        self.crumbs.setMaximumWidth(max(80, (self.width() - width) // 2 - self._brand.width() - 32))
        self._command.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground and divider."""
        theme = themes.current()
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("bg0"))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), theme.color("line"))
        painter.end()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Nothing: the window has its own title bar."""
