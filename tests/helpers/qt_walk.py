"""Finds widgets as a person does (by name), and walks a screen with Tab."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLineEdit,
    QScrollArea,
    QTabBar,
    QWidget,
)

W = TypeVar("W", bound=QWidget)


def name_of(widget: QWidget) -> str:
    """What a screen reader calls the widget: its accessible name, else the text of a button."""
    if widget.accessibleName():
        return widget.accessibleName()
    return widget.text().replace("&", "") if isinstance(widget, QAbstractButton) else ""


def focusable(root: QWidget) -> list[QWidget]:
    """Every visible, enabled widget below `root` that Tab can reach."""
    return [
        widget
        for widget in root.findChildren(QWidget)
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not _is_part(widget)
    ]  # fmt: skip


def find(root: QWidget, kind: type[W], name: str) -> W:
    """The one visible widget of `kind` with this accessible name. Raises AssertionError naming what there is."""
    candidates = [widget for widget in root.findChildren(kind) if widget.isVisible()]
    found = [widget for widget in candidates if name_of(widget) == name]
    assert len(found) == 1, f"{len(found)} × {kind.__name__} {name!r} among {sorted(name_of(w) for w in candidates)}"
    return found[0]


def unnamed(root: QWidget) -> list[str]:
    """Focusable widgets that a screen reader could not name."""
    return [f"{type(widget).__name__} at {widget.geometry()}" for widget in focusable(root) if not name_of(widget)]


def too_small(root: QWidget, least: int = 24) -> list[str]:
    """Buttons and fields whose hit area is below 24 px either way."""
    return [
        f"{type(widget).__name__} {name_of(widget)!r}: {widget.width()}×{widget.height()}"
        for widget in focusable(root)
        if isinstance(widget, QAbstractButton | QLineEdit | QComboBox)
        and (widget.width() < least or widget.height() < least)
    ]


def reached_by_tab(root: QWidget, most: int = 400) -> set[QWidget]:
    """The widgets that Tab comes to, starting from the first, until it comes round."""
    window = root.window()
    window.activateWindow()
    QTest.qWaitForWindowActive(window, 500)
    order = focusable(root)
    if not order:
        return set()
    order[0].setFocus(Qt.FocusReason.TabFocusReason)
    reached: set[QWidget] = set()
    for _ in range(most):
        focused = QApplication.focusWidget()
        if focused is None or focused in reached:
            break
        reached.add(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    return reached


def assert_walkable(root: QWidget) -> None:
    """Each focusable widget of a shown screen has a name, is large enough, and is reached by Tab."""
    assert not unnamed(root), f"Without an accessible name: {unnamed(root)}"
    assert not too_small(root), f"Too small to hit: {too_small(root)}"
    reached = reached_by_tab(root)
    left = [widget for widget in focusable(root) if widget not in reached and not _in_group(widget, reached)]
    missed = [f"{type(widget).__name__} {name_of(widget)!r}" for widget in left]
    assert not missed, f"Tab does not reach: {missed}"


def _is_part(widget: QWidget) -> bool:
    """Viewports, scroll areas and the insides of Qt's own widgets are no stops of their own."""
    parent = widget.parentWidget()
    inside = isinstance(parent, QComboBox | QAbstractItemView) or widget.objectName().startswith("qt_")
    empty_tabs = isinstance(widget, QTabBar) and not widget.count()
    return inside or empty_tabs or type(widget) in (QScrollArea, QWidget)


def _in_group(widget: QWidget, reached: set[QWidget]) -> bool:
    """In an exclusive group Tab stops at one; arrow keys go to the others."""
    if not isinstance(widget, QAbstractButton):
        return False
    group = widget.group()
    if group is not None and group.exclusive():
        return any(button in reached for button in group.buttons())
    parent = widget.parentWidget()
    if widget.autoExclusive() and parent is not None:
        return any(b in reached for b in parent.findChildren(QAbstractButton) if b.autoExclusive())
    return False
