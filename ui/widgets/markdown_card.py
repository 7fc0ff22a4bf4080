"""Text that a stranger wrote in Markdown: shown without anything from outside, neither images nor HTML."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QUrl, Signal
from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor, QTextDocument, QTextFormat, QTextTable
from PySide6.QtWidgets import QTextBrowser, QWidget

from ui import theme as themes

_FRONT_MATTER = re.compile(r"\A---\s*\n.*?\n---\s*\n", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^>\n]+>")


class MarkdownCard(QTextBrowser):
    """Links are not followed here: `link_clicked` carries the address of a web page that was clicked."""

    link_clicked = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setProperty("flat", True)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.anchorClicked.connect(self._clicked)

    def show_markdown(self, text: str) -> None:
        """Show `text` without its YAML head; images are named by their description, HTML is left out."""
        shown = _TAG.sub("", _IMAGE.sub(r"\1", _FRONT_MATTER.sub("", text)))
        features = QTextDocument.MarkdownFeature
        self.document().setMarkdown(shown, features.MarkdownDialectGitHub | features.MarkdownNoHTML)
        self._calm_headings()
        self._calm_tables()

    def changeEvent(self, event: QEvent) -> None:
        """Rules of tables follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._calm_tables()

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Nothing is ever loaded: no image, no style sheet, from no place."""
        return None

    def _calm_headings(self) -> None:
        """A card's title must not shout over the screen's own."""
        cursor, block = QTextCursor(self.document()), self.document().begin()
        while block.isValid():
            level = block.blockFormat().headingLevel()
            if level:
                calm = QTextCharFormat()
                calm.setProperty(QTextFormat.Property.FontSizeAdjustment, 1 if level == 1 else 0)
                calm.setFontWeight(QFont.Weight.DemiBold)
                cursor.setPosition(block.position())
                cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(calm)
            block = block.next()

    def _calm_tables(self) -> None:
        """Quiet rules, no row of empty headers."""
        for frame in self.document().rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                looks = frame.format().toTableFormat()
                looks.setBorderBrush(themes.current().color("line2"))
                looks.setBorderCollapse(True)
                looks.setCellPadding(4)
                frame.setFormat(looks)
                cells = [frame.cellAt(0, column) for column in range(frame.columns())]
                if frame.rows() > 1 and all(cell.firstPosition() == cell.lastPosition() for cell in cells):
                    frame.removeRows(0, 1)

    def _clicked(self, address: QUrl) -> None:
        if address.scheme() in ("http", "https"):
            self.link_clicked.emit(address.toString())
