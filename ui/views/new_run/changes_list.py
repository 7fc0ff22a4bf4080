"""What differs from the defaults: old → new, with a way back for each."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from studio.recipes import FIELDS, Setting
from studio.recipes.document import RecipeDocument
from ui import theme as themes
from ui.fonts import text_font
from ui.format import number
from ui.forms.form import setting_words
from ui.tr import plural, tr
from ui.widgets.button import Button, IconButton
from ui.widgets.painting import paint_dot, text_width
from ui.widgets.text import Rule, Text


def changed_settings(document: RecipeDocument) -> list[str]:
    """Every setting that differs from its default. A run's name is no setting: it has none to differ from."""
    return [key for key in document.changed_keys() if key != "name"]


class ChangesList(QWidget):
    """A row a changed setting."""

    def __init__(self, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._shown: list[tuple[str, str, str]] | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.refresh()

    def refresh(self) -> None:
        """Show what the document holds."""
        rows = [self._words(key) for key in changed_settings(self._document)]
        if rows == self._shown:
            return
        self._shown = rows
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if not rows:
            self._column.addWidget(Text(tr("Every setting is at its default."), size=12, tone="tx3"))
        for key, before, after in rows:
            self._column.addWidget(self._row(key, before, after))
            self._column.addWidget(Rule())

    def _words(self, key: str) -> tuple[str, str, str]:
        spec = FIELDS[key]
        values = (self._document.default(key), self._document.value(key))
        before, after = (setting_words(spec, cast("Setting", value)) for value in values)
        unit = f" {tr(spec.unit)}" if spec.unit else ""
        return key, before.removesuffix(unit) if unit and after.endswith(unit) else before, after

    def _row(self, key: str, before: str, after: str) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 1, 0, 1)
        line.setSpacing(6)
        line.addWidget(Text(tr(FIELDS[key].label), size=12, tone="tx2"))
        values = Text(tr("{before} → {after}", before=before, after=after), size=12, weight=500, elide=True)
        values.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        line.addWidget(values, 1)
        reset = IconButton("reset", tr("Reset {label} to {default}", label=tr(FIELDS[key].label), default=before))
        reset.clicked.connect(lambda: self._document.reset(key))
        line.addWidget(reset)
        return row


class ChangesButton(Button):
    """ "3 changed" with the ember dot; opens the list below itself."""

    def __init__(self, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__("", kind="quiet", parent=parent)
        self._document = document
        self.popup = QFrame(self, Qt.WindowType.Popup)
        self.popup.setProperty("card", "dialog")
        self.popup.setAccessibleName(tr("Changed settings"))
        self.list = ChangesList(document)
        column = QVBoxLayout(self.popup)
        column.setContentsMargins(14, 10, 14, 12)
        column.addWidget(Text(tr("Changed from the defaults"), weight=600))
        column.addWidget(self.list)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._open)
        self.refresh()

    def refresh(self) -> None:
        """Count what the document changed."""
        count = len(changed_settings(self._document))
        words = plural(count, "{count} setting changed", "{count} settings changed")
        self.setText(tr("{count} changed", count=number(count)) if count else tr("None changed"))
        self.setAccessibleName(words if count else tr("No settings changed"))
        self.setToolTip(self.accessibleName())
        self.setEnabled(count > 0)
        if not count:
            self.popup.hide()
        if self.popup.isVisible():
            self.list.refresh()
            self.popup.adjustSize()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """The words, and room for the dot."""
        theme = themes.current()
        return QSize(round(text_width(text_font(theme.px(12), 500), self.text())) + 22, theme.px(28))

    def minimumSizeHint(self) -> QSize:
        """The dot and the number; the words elide."""
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Dot and words."""
        theme = themes.current()
        painter = QPainter(self)
        middle = QRectF(self.rect()).center()
        if self.isEnabled():
            middle.setX(8)
            paint_dot(painter, middle, 3, theme.color("ember"))
        font = text_font(theme.px(12), 500)
        font.setUnderline(self.underMouse() and self.isEnabled())
        painter.setFont(font)
        painter.setPen(theme.color("tx2" if self.isEnabled() else "tx3"))
        text = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width() - 18)
        painter.drawText(QRectF(18, 0, self.width(), self.height()), Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()

    def _open(self) -> None:
        self.list.refresh()
        self.popup.setMinimumWidth(320)
        self.popup.adjustSize()
        self.popup.move(self.mapToGlobal(QPoint(0, self.height() + 4)))
        self.popup.show()
