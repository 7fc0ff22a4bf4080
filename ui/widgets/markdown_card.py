"""Text that a stranger wrote in Markdown: shown without anything from outside, neither images nor HTML."""

from __future__ import annotations

import re

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QTextBrowser, QWidget

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

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Nothing is ever loaded: no image, no style sheet, from no place."""
        return None

    def _clicked(self, address: QUrl) -> None:
        if address.scheme() in ("http", "https"):
            self.link_clicked.emit(address.toString())
