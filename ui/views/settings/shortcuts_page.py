"""Every key of the window, in two columns."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout

from ui.context import Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.views.settings.page import RowsCard, SettingsPage
from ui.widgets.text import KeyCap, Text


class ShortcutsPage(SettingsPage):
    """The keys in force; they are changed by name in settings.json."""

    def __init__(self, context: Context) -> None:
        path = str(context.services.home.settings)
        super().__init__(
            context, tr("Shortcuts"),
            tr("Another key is set by name under “shortcuts” in {path} and holds from the next start.", path=path),
        )  # fmt: skip
        card = RowsCard(tr("Keys"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        table = list(shortcuts(context.services.settings.load().shortcuts).values())
        half = (len(table) + 1) // 2
        for index, shortcut in enumerate(table):
            row, side = index % half, 3 * (index // half)
            cap = KeyCap(shown(shortcut.keys))
            cap.setAccessibleName(f"{shortcut.label}: {shown(shortcut.keys)}")
            label = Text(shortcut.label, tone="tx2")
            label.setToolTip(shortcut.name)
            grid.addWidget(label, row, side)
            grid.addWidget(cap, row, side + 1)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(3, 1)
        grid.setColumnMinimumWidth(2, 24)
        card.body.addLayout(grid)
        self.column.addWidget(card)
        self.column.addStretch(1)
