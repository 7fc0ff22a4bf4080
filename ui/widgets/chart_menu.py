"""The menu of a chart card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu

from ui.tr import tr
from ui.widgets.chart_table import ChartTable

if TYPE_CHECKING:
    from ui.widgets.chart_card import ChartCard

_SMOOTHINGS = (0.0, 0.6, 0.9, 0.98)


def chart_menu(card: ChartCard) -> QMenu:
    """Scale, smoothing, table, copies; the menu deletes itself when it closes."""
    menu = QMenu(card)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    logarithmic = QAction(tr("Logarithmic scale"), menu)
    logarithmic.setCheckable(True)
    logarithmic.setChecked(card.logarithmic)
    logarithmic.toggled.connect(card.set_log)
    menu.addAction(logarithmic)
    smoothing = menu.addMenu(tr("Smoothing"))
    labels = (tr("None"), tr("Light"), tr("Normal"), tr("Strong"))
    for beta, label in zip(_SMOOTHINGS, labels, strict=True):
        action = QAction(label, smoothing)
        action.setCheckable(True)
        action.setChecked(beta == card.smoothing)
        action.triggered.connect(lambda _checked=False, beta=beta: card.set_smoothing(beta))
        smoothing.addAction(action)
    menu.addSeparator()
    menu.addAction(tr("Show everything"), card.plot.show_everything)
    menu.addAction(tr("Show as table"), lambda: show_table(card))
    menu.addAction(tr("Copy as CSV"), lambda: QGuiApplication.clipboard().setText(card.csv()))
    menu.addAction(tr("Copy picture"), lambda: QGuiApplication.clipboard().setPixmap(card.grab()))
    return menu


def show_table(card: ChartCard) -> ChartTable:
    """Open the points of `card` as a table."""
    headers, rows = card.table()
    dialog = ChartTable(card.title.text(), headers, rows, card.window())
    dialog.show()
    return dialog
