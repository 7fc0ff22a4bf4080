"""What shape the rows have: the format with its evidence, an override, and which column plays which role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from studio.recipes import DatasetRef
from ui.format import number
from ui.tr import tr
from ui.widgets.badge import BadgeLabel
from ui.widgets.combo import Combo
from ui.widgets.text import Rule, Text

if TYPE_CHECKING:
    from studio.datasets import DatasetPreviewed, FormatMatch

_ROLES = {
    "messages": "Messages", "conversations": "Messages", "role": "Role", "content": "Text", "system": "System",
    "tools": "Tools", "user": "User is", "assistant": "Assistant is", "instruction": "Instruction", "input": "Input",
    "output": "Output", "prompt": "Prompt", "completion": "Completion", "text": "Text",
}  # fmt: skip
_INNER = ("role", "content", "user", "assistant")
"""Roles that name something inside a message, not a column of the row: they are told, not picked from columns."""


class FormatPanel(QWidget):
    """`format_picked` carries a format's name or None (detected); `column_picked` a role and a column."""

    format_picked = Signal(object)
    column_picked = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self._share = Text("", size=12, tone="tx3")
        title = QHBoxLayout()
        title.addWidget(Text(tr("Format"), size=12, weight=600, tone="tx2"), 1)
        title.addWidget(self._share)
        self._badge = BadgeLabel("")
        self.combo = Combo(tr("Format"))
        self.combo.picked.connect(self.format_picked)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._badge)
        row.addWidget(self.combo, 1)
        self._evidence = Text("", size=12, tone="tx3", wrap=True)
        self._mapping = QGridLayout()
        self._mapping.setHorizontalSpacing(8)
        self._mapping.setVerticalSpacing(6)
        self._mapping.setColumnStretch(2, 1)
        self._mapping_title = Text(tr("Column mapping"), size=12, weight=600, tone="tx2")
        column.addWidget(Rule())
        column.addLayout(title)
        column.addLayout(row)
        column.addWidget(self._evidence)
        column.addWidget(self._mapping_title)
        column.addLayout(self._mapping)

    def show_loading(self) -> None:
        """The first rows are being read."""
        self._badge.set_badge(tr("Reading…"), "neutral", icon="")
        self._share.setText("")
        self._evidence.setText("")

    def show_preview(self, reference: DatasetRef, preview: DatasetPreviewed) -> None:
        """The format in force, what the others would match, and the columns."""
        match = next((found for found in preview.formats if found.format == preview.format), None)
        looked = len(preview.rows)
        if match is None:
            self._badge.set_badge(tr("No format fits"), "bad", explanation=preview.evidence)
        else:
            self._badge.set_badge(tr(match.label), "good" if match.trainable else "bad", explanation=preview.evidence)
        matches = match.matches if match else 0
        self._share.setText(tr("{count} of {all} rows match", count=number(matches), all=number(looked)))
        self._evidence.setText(preview.evidence)
        self._evidence.setVisible(match is None)  # else the badge explains, and the mapping stands below
        choices: list[tuple[object, str]] = [(None, tr("Detected"))]
        choices += [(found.format, _label(found)) for found in preview.formats if found.trainable]
        self.combo.set_choices(choices)
        self.combo.set_value(reference.format)
        self._show_mapping(preview)

    def _show_mapping(self, preview: DatasetPreviewed) -> None:
        focused = self.focusWidget()
        name = focused.accessibleName() if isinstance(focused, Combo) else ""
        while self._mapping.count():
            item = self._mapping.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for line, (role, column) in enumerate(preview.mapping.items()):
            label = tr(_ROLES.get(role, role))
            self._mapping.addWidget(Text(label, size=12, tone="tx2"), line, 0)
            self._mapping.addWidget(Text("←", size=12, tone="tx3"), line, 1)
            if role in _INNER:
                self._mapping.addWidget(Text(column, size=12, mono=True), line, 2)
                continue
            combo = Combo(tr("Column for {role}", role=label), [(c, c) for c in preview.columns], mono=True)
            combo.set_value(column)
            combo.picked.connect(lambda value, role=role: self.column_picked.emit(role, str(value)))
            self._mapping.addWidget(combo, line, 2)
            if combo.accessibleName() == name:
                combo.setFocus(Qt.FocusReason.OtherFocusReason)
        self._mapping_title.setVisible(bool(preview.mapping))


def _label(found: FormatMatch) -> str:
    return tr("{label} · {count}", label=tr(found.label), count=number(found.matches))
