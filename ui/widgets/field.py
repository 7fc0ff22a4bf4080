"""Text and number fields: 30 px, unit or note inside at the right, an icon at the left."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from ui import theme as themes
from ui.fonts import text_font
from ui.format import general, number
from ui.icons import paint_icon
from ui.widgets.painting import keycap_size, paint_keycap, refresh_style, text_width


class TextField(QLineEdit):
    """A line of text. `note` (a unit, or "142 of 1,386 models") stands inside at the right."""

    def __init__(
        self,
        name: str,
        *,
        placeholder: str = "",
        icon: str = "",
        note: str = "",
        keys: str = "",
        mono: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._icon, self._note, self._keys = icon, note, keys
        self._reserved = 0
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setProperty("mono", mono)
        self._fit_margins()

    def set_note(self, note: str) -> None:
        """Show another unit or note."""
        self._note = note
        self._fit_margins()
        self.update()

    def reserve(self, pixels: int) -> None:
        """Keep room free at the right edge for a button that lies on the field."""
        self._reserved = pixels
        self._fit_margins()
        self.update()

    def set_invalid(self, invalid: bool) -> None:
        """Outline in the colour of errors, with a warning sign."""
        if bool(self.property("invalid")) != invalid:
            self.setProperty("invalid", invalid)
            refresh_style(self)
            self._fit_margins()

    def event(self, event: QEvent) -> bool:
        """Undo belongs to the field while something in it is being edited, and to the form otherwise."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and not self.isModified():
            undoing = event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)
            if undoing:
                event.ignore()
                return True
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        """Margins follow the text size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit_margins()

    def paintEvent(self, event: QPaintEvent) -> None:
        """What QLineEdit draws, then icon, note and key cap."""
        super().paintEvent(event)
        theme = themes.current()
        painter = QPainter(self)
        side, middle, right = theme.px(14), self.height() / 2, self.width() - 9.0 - self._reserved
        if self._icon:
            paint_icon(painter, QRectF(10, middle - side / 2, side, side), self._icon, "tx3")
        if self.property("invalid"):
            right -= side
            paint_icon(painter, QRectF(right, middle - side / 2, side, side), "warning", "bad")
        elif self._keys:
            size = keycap_size(self._keys)
            box = QRectF(right - size.width() + 3, middle - size.height() / 2, size.width(), size.height())
            paint_keycap(painter, box, self._keys, theme.color("line2"), theme.color("tx2"), theme.color("bg3"))
        elif self._note:
            painter.setFont(text_font(theme.px(12)))
            painter.setPen(theme.color("tx3"))
            align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(QRectF(0, 0, right, self.height()), align, self._note)
        painter.end()

    def _fit_margins(self) -> None:
        theme = themes.current()
        right = 0.0
        if self.property("invalid"):
            right = theme.px(14) + 6
        elif self._keys:
            right = keycap_size(self._keys).width() + 4
        elif self._note:
            right = text_width(text_font(theme.px(12)), self._note) + 6
        self.setTextMargins(theme.px(14) + 8 if self._icon else 0, 0, round(right) + self._reserved, 0)


class NumberField(TextField):
    """A number with its unit. `edited` carries an int, a float, or None where the text is no such number.

    The value is taken on Enter or when the field is left; ↑ and ↓ step. `None` shows as an empty field with the default
    as placeholder.
    """

    edited = Signal(object)

    def __init__(
        self, name: str, *, integer: bool = False, unit: str = "", step: float = 1, parent: QWidget | None = None
    ) -> None:
        super().__init__(name, note=unit, parent=parent)
        self._integer = integer
        self._step = step
        self._value: float | None = None
        self.editingFinished.connect(self._take)

    @property
    def value(self) -> float | None:
        """The value last set or taken."""
        return self._value

    def set_value(self, value: float | None) -> None:
        """Show `value` without telling anybody."""
        self._value = value
        self.setText("" if value is None else number(value) if self._integer else general(value))
        self.setCursorPosition(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """↑ and ↓ change by one step; multiplied by 10 with Shift."""
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self.parsed() is not None:
            size = self._step * (10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
            current = self.parsed() or 0
            self.set_value(current + (size if event.key() == Qt.Key.Key_Up else -size))
            self.edited.emit(self._value)
        else:
            super().keyPressEvent(event)

    def parsed(self) -> float | None:
        """The text as a number, None where it is none."""
        text = re.sub(r"[\s,\u2009\u00a0]", "", self.text()).replace("−", "-")
        try:
            return int(text) if self._integer else float(text)
        except ValueError:
            return None

    def _take(self) -> None:
        value = self.parsed()
        shown = "" if self._value is None else number(self._value) if self._integer else general(self._value)
        if self.text() != shown:
            self._value = value
            self.edited.emit(value if self.text().strip() else None)
