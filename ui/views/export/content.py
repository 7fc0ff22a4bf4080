"""How the Export screen is laid out; what it shows is the view's business."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.exports.service import ExportFormat
from ui import theme as themes
from ui.views.export.checkpoints_card import CheckpointsCard
from ui.views.export.export_error import ExportErrorCard
from ui.views.export.exports_card import ExportsCard
from ui.views.export.facts import FORMATS
from ui.views.export.footer import ExportFooter
from ui.views.export.format_card import FormatCard
from ui.views.export.result_card import CardPreview, ResultCard
from ui.widgets.side_pane import SidePane


class ExportContent(QWidget):
    """Checkpoints above; formats and exports at the left, the result at the right; the button below."""

    def __init__(self, export_keys: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.checkpoints = CheckpointsCard()
        self.cards: dict[ExportFormat, FormatCard] = {kind: FormatCard(kind) for kind in FORMATS}
        self.exports = ExportsCard()
        self.result, self.preview, self.error = ResultCard(), CardPreview(), ExportErrorCard()
        self.footer = ExportFooter(export_keys)
        self.exports.setMinimumHeight(themes.current().px(150))
        self.preview.setMinimumHeight(themes.current().px(150))
        formats = QHBoxLayout()
        formats.setSpacing(12)
        for card in self.cards.values():
            formats.addWidget(card, 1)
        left = QVBoxLayout()
        left.setSpacing(12)
        left.addWidget(self.error)
        left.addLayout(formats)
        left.addWidget(self.exports, 1)
        side = SidePane()
        right = QVBoxLayout(side)
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(12)
        right.addWidget(self.result)
        right.addWidget(self.preview, 1)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addLayout(left, 1)
        row.addWidget(side)
        inside = QWidget()
        inside.setProperty("scrolled", True)
        inner = QVBoxLayout(inside)
        inner.setContentsMargins(20, 12, 20, 12)
        inner.setSpacing(12)
        inner.addWidget(self.checkpoints)
        inner.addLayout(row, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        area = QScrollArea()  # low windows scroll; nothing is squeezed
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inside)
        column.addWidget(area, 1)
        column.addWidget(self.footer)
        for pane, name in ((self.checkpoints, "checkpoints"), (self.exports, "exports"), (side, "result")):
            pane.setProperty("pane", name)
