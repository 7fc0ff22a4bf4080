"""How long the rows are, and what the sequence length cuts: a line to drag, a field to type in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from studio.recipes import FIELDS
from studio.recipes.document import RecipeDocument
from ui import theme as themes
from ui.format import closed_form, compact, number, percent
from ui.forms.binding import bind
from ui.tr import plural, tr
from ui.viewmodels.lengths import Cut, cut_at, percentile
from ui.widgets.card import Card
from ui.widgets.empty_state import EmptyState
from ui.widgets.field import NumberField
from ui.widgets.length_histogram import LengthHistogram
from ui.widgets.text import Text

if TYPE_CHECKING:
    from studio.datasets import Histogram

_MOST_BARS = 64


class LengthsCard(Card):
    """`dragged` carries the limit while it moves; letting go sets it in the recipe."""

    dragged = Signal(int)

    def __init__(self, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(tr("Row length"), " ", parent=parent)
        self.setProperty("pane", "lengths")
        self._document = document
        self._counted: Histogram | None = None
        spec = FIELDS["sequence_length"]
        self._binding = bind(spec, lambda value: document.set("sequence_length", value), self._refuse)
        self._binding.widget.setFixedWidth(themes.current().px(124))
        self.add_to_header(Text(tr(spec.label), size=12, tone="tx2"))
        self.add_to_header(self._binding.widget)
        self.histogram = LengthHistogram()
        self.histogram.dragged.connect(self._dragged)
        self.histogram.limit_set.connect(lambda limit: document.set("sequence_length", limit))
        self._facts = Text("", size=12, tone="tx3", elide=True)
        self._stack = QStackedWidget()
        self._empty = EmptyState(tr("Not counted yet"))
        shown = QWidget()
        self._lay_out(shown)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(shown)
        self.body.addWidget(self._stack, 1)

    @property
    def limit(self) -> int:
        """Where the line stands."""
        return self.histogram.limit

    def show_nothing(self, title: str, text: str) -> None:
        """There is nothing to draw; says what for."""
        self._counted = None
        self._empty.title.setText(title)
        self._empty.text.setText(text)
        self._empty.text.setVisible(bool(text))
        self._stack.setCurrentIndex(0)
        self.meta.setText("")
        self._show_field()

    def show_lengths(self, histogram: Histogram) -> None:
        """The counted rows, with the line at the recipe's sequence length."""
        if histogram != self._counted:
            self._counted = histogram
            counts, width = _bars(histogram)
            self.histogram.set_counts(counts, width)
            self.meta.setText(tr("rows per {width}-token bin, square-root scale", width=number(width)))
            mean = sum(histogram.tokens) / max(1, sum(histogram.rows))
            at_most = number(percentile(histogram, 0.95))
            self._facts.setText(
                tr("Mean {mean} tokens · 95 % of the rows have at most {length}", mean=number(mean), length=at_most)
            )
        self._show_field()
        self._show_cut(self._length())
        self._stack.setCurrentIndex(1)

    def _lay_out(self, shown: QWidget) -> None:
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.histogram, 1)
        column.addWidget(self._facts)

    def _length(self) -> int:
        value = self._document.value("sequence_length")
        assert isinstance(value, int)
        return value

    def _show_field(self) -> None:
        self._binding.show(self._length())
        if isinstance(self._binding.widget, NumberField):
            self._binding.widget.set_invalid(any(p.where == "sequence_length" for p in self._document.problems()))

    def _dragged(self, limit: int) -> None:
        self._show_cut(limit)
        self._binding.show(limit)
        self.dragged.emit(limit)

    def _show_cut(self, limit: int) -> None:
        if self._counted is not None:
            cut = cut_at(self._counted, limit)
            self.histogram.set_limit(limit, *cut_words(cut))

    def _refuse(self, text: str) -> None:
        if isinstance(self._binding.widget, NumberField):
            self._binding.widget.set_invalid(True)
            self._binding.widget.setToolTip(text)


def cut_words(cut: Cut) -> tuple[str, str]:
    """("Cut: 384 rows (2.7 %)", "148 k tokens lost, 1.7 % of all"); the second is empty where nothing is cut."""
    if not cut.rows:
        return tr("No row is cut"), ""
    mark = str if cut.exact else closed_form
    rows = plural(cut.rows, "{count} row", "{count} rows")
    lost = mark(compact(cut.lost_tokens))
    first = tr("Cut: {rows} ({share})", rows=mark(rows), share=percent(cut.row_share, 1))
    return first, tr("{tokens} tokens lost, {share} of all", tokens=lost, share=percent(cut.lost_share, 1))


def _bars(histogram: Histogram) -> tuple[Sequence[int], int]:
    """Bins put together until they are few enough to be seen."""
    rows, width = list(histogram.rows), histogram.width
    while len(rows) > _MOST_BARS:
        rows = [sum(rows[at : at + 2]) for at in range(0, len(rows), 2)]
        width *= 2
    return rows, width
