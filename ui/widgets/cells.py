"""How table cells look: selection, hover and focus of a row, text in one or two lines, numbers to the right."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from ui import theme as themes
from ui.fonts import mono_font, text_font
from ui.widgets.painting import rounded

SECOND_LINE_ROLE = Qt.ItemDataRole.UserRole + 10
TONE_ROLE = Qt.ItemDataRole.UserRole + 11
Index = QModelIndex | QPersistentModelIndex


def paint_cell_background(painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
    """Row states: hover bg3; selected ac-soft with a 3 px bar at the first column; a line below."""
    theme = themes.current()
    rect = QRect(option.rect)
    if option.state & QStyle.StateFlag.State_Selected:
        painter.fillRect(rect, theme.color("ac-soft"))
        view = option.widget
        first = isinstance(view, QAbstractItemView) and rect.x() <= 0
        if first or index.column() == 0:
            painter.fillRect(QRect(rect.x(), rect.y(), 3, rect.height()), theme.color("ac"))
    elif option.state & QStyle.StateFlag.State_MouseOver:
        painter.fillRect(rect, theme.color("bg3"))
    painter.fillRect(QRect(rect.x(), rect.bottom(), rect.width(), 1), theme.color("line"))
    if option.state & QStyle.StateFlag.State_HasFocus:
        rounded(painter, QRectF(rect).adjusted(1, 1, -1, -2), 3, None, theme.color("ac"), 2)


class TextDelegate(QStyledItemDelegate):
    """Text cells. SECOND_LINE_ROLE adds a quiet second line; TONE_ROLE names a colour token; `number` aligns right."""

    def __init__(
        self, parent: QAbstractItemView, *, strong: bool = False, number: bool = False, mono: bool = False
    ) -> None:
        super().__init__(parent)
        self._strong, self._number, self._mono = strong, number, mono

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """One or two lines, elided at the right."""
        paint_cell_background(painter, option, index)
        theme = themes.current()
        area = QRect(option.rect).adjusted(8, 0, -8, 0)
        second = str(index.data(SECOND_LINE_ROLE) or "")
        first = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        align = Qt.AlignmentFlag.AlignRight if self._number else Qt.AlignmentFlag.AlignLeft
        tone = str(index.data(TONE_ROLE) or ("tx1" if self._strong or self._number else "tx2"))
        size = theme.px(13)
        font = mono_font(theme.px(12)) if self._mono else text_font(size, 500 if self._strong else 400)
        top = QRect(area.x(), area.center().y() - theme.px(17), area.width(), theme.px(18)) if second else area
        painter.setFont(font)
        painter.setPen(theme.color(tone))
        shown = QFontMetrics(font).elidedText(first, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(top, align | Qt.AlignmentFlag.AlignVCenter, shown)
        if second:
            quiet = text_font(theme.px(12))
            painter.setFont(quiet)
            painter.setPen(theme.color("tx3"))
            shown = QFontMetrics(quiet).elidedText(second, Qt.TextElideMode.ElideRight, area.width())
            below = QRect(area.x(), area.center().y() + 1, area.width(), theme.px(16))
            painter.drawText(below, align | Qt.AlignmentFlag.AlignVCenter, shown)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """The text's width and the row's height."""
        theme = themes.current()
        text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        width = QFontMetrics(text_font(theme.px(13), 500)).horizontalAdvance(text)
        return QSize(width + 18, theme.px(46 if index.data(SECOND_LINE_ROLE) else 32))
