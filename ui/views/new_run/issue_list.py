"""What one should know about the rows before training: each issue with its count, its places, and a way to see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.format import number
from ui.tr import plural, tr
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.text import IconLabel, Rule, Text

if TYPE_CHECKING:
    from studio.datasets import Issue, Place

_PLACES = 3
_OF_PAIRS = ("duplicate", "leakage")
"""Issues of rows beside each other, which a look at one row does not find: their places are told instead."""


class IssueList(QWidget):
    """`wanted` carries the code whose rows should be shown, "" for all rows again."""

    wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)
        self._shown: tuple[tuple[Issue, ...], str] = ((), "")
        self.hide()

    def show_issues(self, issues: Sequence[Issue], showing: str) -> None:
        """Replace the list; `showing` is the code that the table is filtered by."""
        if (tuple(issues), showing) == self._shown:
            return
        self._shown = (tuple(issues), showing)
        while self._column.count():
            item = self._column.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._column.addWidget(Rule())
        title = plural(len(issues), "{count} thing to know", "{count} things to know")
        self._column.addWidget(Text(title, size=12, weight=600, tone="tx2"))
        for issue in issues:
            self._column.addWidget(self._card(issue, showing))
        self.setVisible(bool(issues))

    def _card(self, issue: Issue, showing: str) -> Card:
        loud = issue.effect != "kept" or issue.code in _OF_PAIRS
        card = Card(surface="warn" if loud else "well")
        card.body.setContentsMargins(10, 6, 8, 6)
        card.body.setSpacing(2)
        count = plural(issue.count, "{count} row", "{count} rows")
        what = Text(tr("{rows}: {message}", rows=count, message=tr(issue.message)), size=12, weight=600, wrap=True)
        head = QHBoxLayout()
        head.setSpacing(8)
        icon = IconLabel("warning" if loud else "info", "warn" if loud else "tx2", 14)
        head.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(what, 1)
        card.body.addLayout(head)
        if issue.examples:
            card.body.addWidget(Text(_places(issue), size=12, tone="tx2", wrap=True))
        effects = {"kept": tr("trained as it is"), "cut": tr("trained in part"), "left_out": tr("not trained")}
        foot = QHBoxLayout()
        foot.addWidget(Text(effects[issue.effect], size=12, tone="tx3"), 1)
        if issue.code not in _OF_PAIRS:
            foot.addWidget(self._show_button(issue, on=issue.code == showing))
        card.body.addLayout(foot)
        card.setAccessibleName(what.text())
        card.setToolTip("\n".join(_place(place) for place in issue.examples))
        return card

    def _show_button(self, issue: Issue, *, on: bool) -> Button:
        show = Button(tr("Show all rows") if on else tr("Show them"), kind="link", size="inline")
        show.setAccessibleName(tr("Show all rows") if on else tr("Show rows: {what}", what=tr(issue.message)))
        show.clicked.connect(lambda: self.wanted.emit("" if on else issue.code))
        return show


def _places(issue: Issue) -> str:
    """Pairs are told by their places; of the others the first, and "Show them" shows the rest."""
    most = _PLACES if issue.code in _OF_PAIRS else 1
    lines = [_place(place) for place in issue.examples[:most]]
    more = issue.count - len(lines)
    return "\n".join([*lines, tr("and {count} more", count=number(more))] if more > 0 else lines)


def _place(place: Place) -> str:
    where = tr("{file}, line {line}", file=place.file, line=number(place.line))
    return f"{where}: {place.reason}" if place.reason else where
