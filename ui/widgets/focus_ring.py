"""The focus ring of buttons, toggles and painted widgets: 2 px, 2 px away from what has the focus.

QSS cannot draw outside a widget, so one ring lies beside the focused widget in the same parent and follows it. Fields
and lists draw their own focus; a widget can opt out with `setProperty("ownFocus", True)`.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from ui import theme as themes
from ui.widgets.painting import rounded

_OWN = (QLineEdit, QComboBox, QAbstractItemView, QTextEdit, QPlainTextEdit, QTabBar)
_REACH = 4


class _Ring(QWidget):
    """What is seen; lives in the focused widget's parent and may be deleted with it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        rounded(painter, QRectF(self.rect()), 6 + _REACH, None, themes.current().color("ac"), 2)
        painter.end()


class FocusRing(QObject):
    """One per window; draws a ring around the widget that got the focus, unless by a click."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._target: QWidget | None = None
        self._ring: _Ring | None = None
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._focus_changed)

    @property
    def ring(self) -> QWidget | None:
        """The ring where one is seen."""
        seen = self._ring is not None and shiboken6.isValid(self._ring) and self._ring.isVisible()
        return self._ring if seen else None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the focused widget as it moves, hides or goes."""
        if watched is self._target:
            if event.type() in (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show):
                self._follow()
            elif event.type() == QEvent.Type.Hide:
                self._remove_ring()
        return False

    def _focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        if not shiboken6.isValid(self) or not shiboken6.isValid(self._window):
            return
        if self._target is not None and shiboken6.isValid(self._target):
            self._target.removeEventFilter(self)
        self._target = None
        self._remove_ring()
        if new is None or isinstance(new, _OWN) or new.property("ownFocus") or new.window() is not self._window:
            return
        parent = new.parentWidget()
        clicked = QApplication.mouseButtons() != Qt.MouseButton.NoButton  # who points at a thing knows where it is
        if parent is None or clicked:
            return
        self._target = new
        new.installEventFilter(self)
        self._ring = _Ring(parent)
        self._follow()

    def _follow(self) -> None:
        if self._target is None or self._ring is None or not shiboken6.isValid(self._ring):
            return
        self._ring.setGeometry(self._target.geometry().adjusted(-_REACH, -_REACH, _REACH, _REACH))
        self._ring.setVisible(self._target.isVisible())
        self._ring.raise_()

    def _remove_ring(self) -> None:
        if self._ring is not None and shiboken6.isValid(self._ring):
            self._ring.hide()
            self._ring.deleteLater()
        self._ring = None
