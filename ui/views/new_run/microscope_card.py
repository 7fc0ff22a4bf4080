"""The selected row as the engine will see it, token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from ui.bridge import Control, Latest
from ui.context import Context
from ui.format import number
from ui.tr import tr
from ui.viewmodels.data_rows import RowsQuestion
from ui.widgets.card import Card
from ui.widgets.empty_state import EmptyState
from ui.widgets.error_card import ErrorCard
from ui.widgets.segmented import SegmentedControl
from ui.widgets.text import KeyCap, Text
from ui.widgets.token_layout import Fold, Token
from ui.widgets.token_legend import TokenLegend
from ui.widgets.token_microscope import TokenMicroscope
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.datasets import RowSummary, TokensInspected

_REST_MILLISECONDS = 80
_FOLD_FROM, _HEAD, _TAIL = 700, 300, 120


class MicroscopeCard(Card):
    """Tokens, text or ids of one row; says what is missing where there is no tokenizer yet."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(tr("Token microscope"), " ", parent=parent)
        self.setProperty("pane", "microscope")
        self._context = context
        self._latest = Latest(context.tasks, self, _REST_MILLISECONDS)
        self.mode = SegmentedControl(
            tr("Show"), [("tokens", tr("Tokens")), ("text", tr("Text")), ("ids", tr("IDs"))], small=True
        )
        self.microscope = TokenMicroscope()
        self.mode.picked.connect(self.microscope.set_mode)
        self.add_to_header(self.mode)
        self._token = Text("", size=12, tone="tx2", elide=True)
        self.microscope.current_changed.connect(lambda at: self._token.setText(self.microscope.describe(at)))
        self._stack = QStackedWidget()
        self._empty = EmptyState(tr("No row selected"), tr("Select a row to see its tokens."))
        self._error = ErrorCard()
        for page in (self._shown_page(), self._empty, self._error):
            self._stack.addWidget(page)
        self.body.addWidget(self._stack, 1)
        self.show_nothing()

    def show_nothing(self, title: str = "", text: str = "") -> None:
        """No row, or no tokenizer; says which."""
        self._latest.cancel()
        self.meta.setText("")
        self._empty.title.setText(title or tr("No row selected"))
        self._empty.text.setText(text or tr("Select a row to see its tokens."))
        self._stack.setCurrentWidget(self._empty)

    def show_row(self, question: RowsQuestion, row: RowSummary) -> None:
        """Ask the data worker for the tokens of a row; the latest wins."""
        folder = question.tokenizer
        if folder is None:
            self.show_nothing(
                tr("No tokenizer yet"), tr("Tokens show once a model is chosen and on this disk: its tokenizer counts.")
            )
            return
        services = self._context.services

        def work(control: Control) -> TokensInspected:
            return services.datasets.tokens(question.recipe, folder, row.row, dataset=question.dataset)

        def failed(error: Exception) -> None:
            if getattr(error, "code", "") == "data.cancelled":
                self.show_row(question, row)
                return
            words = words_for(error)
            self.meta.setText(tr("row {row}", row=number(row.row + 1)))
            self._error.show_error(words.what, words.remedy)
            self._stack.setCurrentWidget(self._error)

        self._latest.request(work, lambda found: self._found(row, found), failed)

    def _shown_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        foot = QHBoxLayout()
        foot.setSpacing(4)
        foot.addWidget(self._token, 1)
        for keys, meaning in ((("←", "→"), tr("token")), (("↑", "↓"), tr("line"))):
            for key in keys:
                foot.addWidget(KeyCap(key))
            foot.addWidget(Text(meaning, size=12, tone="tx3"))
        column.addWidget(TokenLegend())
        column.addWidget(self.microscope, 1)
        column.addLayout(foot)
        return page

    def _found(self, row: RowSummary, found: TokensInspected) -> None:
        templates = {
            "model": tr("the model's template"), "chatml": "ChatML", "plain": tr("plain template"),
            "none": tr("no template"),
        }  # fmt: skip
        template = templates.get(found.template, found.template)
        self.meta.setText(tr("row {row} · {template}", row=number(row.row + 1), template=template))
        if found.reason:
            self._error.show_error(tr("This row is left out"), found.reason)
            self._stack.setCurrentWidget(self._error)
            return
        tokens = [
            Token(text, identity, trained and index < found.cut_at, special, cut=index >= found.cut_at)
            for index, (text, identity, trained, special) in enumerate(
                zip(found.texts, found.ids, found.trained, found.special, strict=True)
            )
        ]
        self.microscope.set_tokens(tokens, _folds(len(tokens), found.cut_at))
        self._stack.setCurrentIndex(0)


def _folds(count: int, cut_at: int) -> list[Fold]:
    """A long row shows its beginning, the place of the cut, and its end."""
    stops = [_HEAD, max(_HEAD, min(cut_at, count) - _TAIL)]
    folds = []
    if count > _FOLD_FROM:
        stops = [*stops, min(cut_at + _TAIL, count), max(min(cut_at + _TAIL, count), count - _TAIL)]
        for start, end in (stops[:2], stops[2:]):
            if end - start > 20:
                label = tr("{count} tokens folded · press F to unfold", count=number(end - start))
                folds.append(Fold(start, end, label))
    return folds
