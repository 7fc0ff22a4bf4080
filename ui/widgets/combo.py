"""A combo box with the design's chevron, whose items carry a value."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QListView, QSizePolicy, QWidget

from ui import theme as themes
from ui.icons import paint_icon
from ui.widgets.painting import refresh_style


class Combo(QComboBox):
    """Pick one of `(value, label)`. `picked` carries the value, only when the user chose it."""

    picked = Signal(object)

    def __init__(
        self,
        name: str,
        choices: Iterable[tuple[object, str]] = (),
        *,
        mono: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setProperty("mono", mono)
        self.setView(QListView())  # the default popup of Fusion ignores most of the style sheet
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        # AdjustToContents would resize the combo behind its layout's back, from a timer.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.set_choices(choices)
        self.activated.connect(lambda index: self.picked.emit(self.itemData(index)))

    def set_choices(self, choices: Iterable[tuple[object, str]]) -> None:
        """Replace what can be picked; keeps the value where it is still there."""
        value = self.currentData()
        self.clear()
        for choice, label in choices:
            self.addItem(label, choice)
        self.set_value(value)

    def set_value(self, value: object) -> None:
        """Show `value` without telling anybody; a value that is not there changes nothing."""
        index = next((row for row in range(self.count()) if self.itemData(row) == value), -1)
        if index >= 0:
            self.setCurrentIndex(index)

    def set_invalid(self, invalid: bool) -> None:
        """Outline in the colour of errors."""
        if bool(self.property("invalid")) != invalid:
            self.setProperty("invalid", invalid)
            refresh_style(self)

    def minimumSizeHint(self) -> QSize:
        """The column decides how wide it is; the text elides, and the list is as wide as it must be."""
        return QSize(60, super().minimumSizeHint().height())

    def showPopup(self) -> None:
        """The list shows every label whole."""
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 24)
        super().showPopup()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling the page must not change a setting."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """What QComboBox draws, then the chevron."""
        super().paintEvent(event)
        painter = QPainter(self)
        side = themes.current().px(14)
        box = QRectF(self.width() - side - 8, (self.height() - side) / 2, side, side)
        paint_icon(painter, box, "chevron-down", "tx2" if self.isEnabled() else "tx3")
        painter.end()
