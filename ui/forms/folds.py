"""The Advanced form: every field of the schema in folds by group, with a search and "Changed only"."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QSizePolicy, QVBoxLayout, QWidget

from studio.recipes import FIELDS, GROUP_LABELS
from studio.recipes.document import RecipeDocument
from ui import theme as themes
from ui.fonts import text_font
from ui.forms.form import SettingForm
from ui.icons import paint_icon
from ui.tr import tr
from ui.widgets.painting import text_width


class FoldHeader(QAbstractButton):
    """Chevron, title, "n of m changed"; pressing it opens or closes the fold."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._meta = ""
        self.setText(title)
        self.setCheckable(True)
        self.setChecked(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_meta("")

    def set_meta(self, meta: str) -> None:
        """The quiet text after the title."""
        self._meta = meta
        self.setAccessibleName(f"{self.text()}, {meta}" if meta else self.text())
        self.update()

    def sizeHint(self) -> QSize:
        """32 px high."""
        return QSize(200, themes.current().px(32))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Chevron, title, meta."""
        theme = themes.current()
        painter = QPainter(self)
        chevron = "chevron-down" if self.isChecked() else "chevron-right"
        paint_icon(painter, QRectF(10, (self.height() - 14) / 2, 14, 14), chevron, "tx2")
        font = text_font(theme.px(13), 600)
        painter.setFont(font)
        painter.setPen(theme.color("tx1"))
        align = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(32, 0, self.width(), self.height()), align, self.text())
        x = 32 + text_width(font, self.text()) + 8
        painter.setFont(text_font(theme.px(12)))
        painter.setPen(theme.color("tx3"))
        painter.drawText(QRectF(x, 0, self.width() - x, self.height()), align, self._meta)
        painter.end()


class Fold(QFrame):
    """One group of settings in a card."""

    def __init__(self, title: str, form: SettingForm, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", "true")
        self.form = form
        self._document = document
        self.header = FoldHeader(title)
        self.header.toggled.connect(form.setVisible)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 1, 1, 1)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(form)
        form.layout_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Count what changed; a fold without a row to show is hidden."""
        keys = self.form.shown_keys()
        changed = sum(self._document.is_changed(key) for key in keys)
        self.header.set_meta(tr("{changed} of {all} changed", changed=changed, all=len(keys)) if changed else "")
        self.setVisible(bool(keys))


class FoldedForm(QWidget):
    """Folds for the groups, in one column. `counted` carries (changed, all) after each change."""

    counted = Signal(int, int)

    def __init__(
        self, document: RecipeDocument, groups: Sequence[str] | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._typed, self._changed_only = "", False
        self.folds: dict[str, Fold] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for group, title in GROUP_LABELS.items():
            keys = [
                key for key, spec in FIELDS.items() if spec.group == group and spec.kind not in ("model", "datasets")
            ]
            if keys and (groups is None or group in groups):
                fold = Fold(tr(title), SettingForm(document, keys, wide=True), document, self)
                self.folds[group] = fold
                column.addWidget(fold)
        column.addStretch(1)
        unsubscribe = document.subscribe(lambda changed: self._refresh())
        self.destroyed.connect(lambda: unsubscribe())
        self._refresh()

    def search(self, typed: str) -> None:
        """Only rows whose label, help or key holds `typed`."""
        self._typed = typed.strip().lower()
        self._refresh()

    def show_changed_only(self, changed_only: bool) -> None:
        """Only rows that differ from their default."""
        self._changed_only = changed_only
        self._refresh()

    def _refresh(self) -> None:
        for fold in self.folds.values():
            fold.form.hide_keys(frozenset(key for key in fold.form.keys if not self._wanted(key)))
        keys = [key for fold in self.folds.values() for key in fold.form.keys]
        self.counted.emit(sum(self._document.is_changed(key) for key in keys), len(keys))

    def _wanted(self, key: str) -> bool:
        spec = FIELDS[key]
        text = f"{tr(spec.label)} {tr(spec.help)} {key}".lower()
        return self._typed in text and (not self._changed_only or self._document.is_changed(key))
