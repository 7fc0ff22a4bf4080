"""State badges: shape, word and colour together, as a label that can be focused and as a table delegate."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from ui import theme as themes
from ui.fonts import text_font
from ui.icons import paint_icon
from ui.widgets.cells import paint_cell_background
from ui.widgets.painting import rounded, text_width

State = Literal["good", "warn", "bad", "accent", "neutral"]

_SHAPE = {"good": "disc-check", "warn": "half-disc", "bad": "boxed-cross", "accent": "", "neutral": ""}
_FILL = {"good": "good-soft", "warn": "warn-soft", "bad": "bad-soft", "accent": "ac-soft", "neutral": "bg4"}
_INK = {"good": "good", "warn": "warn", "bad": "bad", "accent": "ac-tx", "neutral": "tx2"}
STATE_ROLE = Qt.ItemDataRole.UserRole + 1
ICON_ROLE = Qt.ItemDataRole.UserRole + 2
EXPLAIN_ROLE = Qt.ItemDataRole.ToolTipRole


def shape_of(state: State) -> str:
    """The icon that stands for a state: disc with tick, half disc, boxed cross, or none."""
    return _SHAPE[state]


def badge_size(text: str, icon: str) -> QSize:
    """The size that `paint_badge` fills."""
    theme = themes.current()
    width = text_width(text_font(theme.px(12), 500), text) + 12 + (theme.px(12) + 4 if icon else 0)
    return QSize(round(width + 1), theme.px(20))


def paint_badge(painter: QPainter, rect: QRectF, text: str, state: State, icon: str) -> None:
    """One badge filling `rect`."""
    theme = themes.current()
    rounded(painter, rect, 4, theme.color(_FILL[state]))
    x, side = rect.x() + 6, theme.px(12)
    if icon:
        box = QRectF(x, rect.center().y() - side / 2, side, side)
        paint_icon(painter, box, icon, _INK[state], ground=_FILL[state])
        x += side + 4
    painter.setFont(text_font(theme.px(12), 500))
    painter.setPen(theme.color(_INK[state]))
    room = QRectF(x, rect.y(), rect.right() - x - 4, rect.height())
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, round(room.width()) + 1)
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)


class BadgeLabel(QAbstractButton):
    """A badge. With an explanation it takes the focus; F1, hover or Enter explains, Enter again opens the remedy."""

    remedy_wanted = Signal()

    def __init__(
        self,
        text: str = "",
        state: State = "neutral",
        *,
        icon: str | None = None,
        explanation: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._state: State = state
        self._icon = icon
        self._explained = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_badge(text, state, icon=icon, explanation=explanation)
        self.clicked.connect(self._pressed)

    @property
    def state(self) -> State:
        """The state that shape and colour show."""
        return self._state

    def set_badge(self, text: str, state: State, *, icon: str | None = None, explanation: str = "") -> None:
        """Show another verdict. `icon` None means the state's own shape, "" none."""
        self._state, self._icon, self._explained = state, icon, False
        self.setText(text)
        self.setAccessibleName(text)
        self.setAccessibleDescription(explanation)
        self.setToolTip(explanation)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if explanation else Qt.FocusPolicy.NoFocus)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """20 px high; 24 px where it can be clicked, so that it can be hit."""
        size = badge_size(self.text(), self._shape())
        return QSize(size.width(), max(size.height(), 24) if self.toolTip() else size.height())

    def minimumSizeHint(self) -> QSize:
        """A badge is never cut."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The badge, centred in height."""
        painter = QPainter(self)
        size = badge_size(self.text(), self._shape())
        rect = QRectF(0, (self.height() - size.height()) / 2, size.width(), size.height())
        paint_badge(painter, rect, self.text(), self._state, self._shape())
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """F1 and Enter explain; Enter again asks for the remedy."""
        if event.key() == Qt.Key.Key_F1:
            self._explain()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pressed()
        else:
            super().keyPressEvent(event)

    def _shape(self) -> str:
        return _SHAPE[self._state] if self._icon is None else self._icon

    def _pressed(self) -> None:
        if self._explained:
            self.remedy_wanted.emit()
        else:
            self._explain()

    def _explain(self) -> None:
        if self.toolTip():
            self._explained = True
            QToolTip.showText(self.mapToGlobal(self.rect().bottomLeft()), self.toolTip(), self)


class BadgeDelegate(QStyledItemDelegate):
    """Paints cells as badges: text in DisplayRole, a State in STATE_ROLE, an icon name or None in ICON_ROLE."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """One badge at the left of the cell."""
        paint_cell_background(painter, option, index)
        text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        if not text:
            return
        state, icon = self._look(index)
        size = badge_size(text, icon)
        area = QRect(option.rect)
        width = min(size.width(), area.width() - 12)
        paint_badge(
            painter,
            QRectF(area.x() + 8, area.center().y() - size.height() / 2 + 0.5, width, size.height()),
            text,
            state,
            icon,
        )

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """The badge and the cell's padding."""
        text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        return badge_size(text, self._look(index)[1]) + QSize(16, 12)

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        """The explanation, where there is one."""
        explanation = index.data(EXPLAIN_ROLE)
        if event.type() == QEvent.Type.ToolTip and explanation:
            QToolTip.showText(event.globalPos(), str(explanation), view)
            return True
        return super().helpEvent(event, view, option, index)

    def _look(self, index: QModelIndex | QPersistentModelIndex) -> tuple[State, str]:
        state: State = index.data(STATE_ROLE) or "neutral"
        icon = index.data(ICON_ROLE)
        return state, _SHAPE[state] if icon is None else str(icon)
