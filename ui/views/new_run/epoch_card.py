"""How well the rows fill the sequences, and what one epoch comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QGridLayout, QWidget

from studio.recipes.document import RecipeDocument
from ui import theme as themes
from ui.format import closed_form, compact, duration, number, percent
from ui.forms.form import SettingForm
from ui.tr import plural, tr
from ui.viewmodels.lengths import epoch_at
from ui.widgets.card import Card, KeyFigure
from ui.widgets.progress import Progress
from ui.widgets.text import Text

if TYPE_CHECKING:
    from studio.datasets import DataStatistics
    from studio.planning import Plan


class EpochCard(Card):
    """Figures are marked "≈" while they are reckoned from the histogram and not counted."""

    def __init__(self, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(tr("Packing and epoch size"), " ", parent=parent)
        self._document = document
        self._form = SettingForm(document, ["packing"])
        self._form.setMinimumWidth(themes.current().px(118))
        self.add_to_header(self._form)
        bars = QGridLayout()
        bars.setHorizontalSpacing(10)
        bars.setVerticalSpacing(6)
        bars.setColumnStretch(1, 1)
        self._bars: dict[str, tuple[Progress, Text]] = {}
        for line, (key, label) in enumerate((("padded", tr("Padded")), ("packed", tr("Packed")))):
            bar, share = Progress(label, 12), Text("", size=12, weight=600, tone="tx2")
            bars.addWidget(Text(label, size=12, tone="tx2"), line, 0)
            bars.addWidget(bar, line, 1)
            bars.addWidget(share, line, 2)
            self._bars[key] = (bar, share)
        self._sentence = Text("", size=12, tone="tx3", wrap=True)
        self.tokens, self.sequences = KeyFigure(tr("Tokens per epoch")), KeyFigure(tr("Sequences per epoch"))
        self.steps, self.time = KeyFigure(tr("Steps per epoch")), KeyFigure(tr("Time per epoch"))
        self.tokens.explain(tr("Tokens of all training rows, each seen once. In the loss: those that are learned."))
        self.sequences.explain(tr("How many rows of the sequence length an epoch is, packed as the switch says."))
        self.steps.explain(tr("Optimizer steps until every row was seen once."))
        self.time.explain(tr("Predicted: the plan's step time, as often as an epoch has steps."))
        figures = QGridLayout()
        figures.setHorizontalSpacing(12)
        figures.setVerticalSpacing(10)
        for at, figure in enumerate((self.tokens, self.sequences, self.steps, self.time)):
            figures.addWidget(figure, at // 2, at % 2)
        self.body.addLayout(bars)
        self.body.addWidget(self._sentence)
        self.body.addSpacing(4)
        self.body.addLayout(figures)
        self.body.addStretch(1)

    def show_nothing(self) -> None:
        """Nothing is counted yet."""
        for bar, share in self._bars.values():
            bar.set_fraction(0)
            share.setText("–")
        self._sentence.setText(tr("Counted once there are rows and a tokenizer."))
        for figure in (self.tokens, self.sequences, self.steps, self.time):
            figure.set_value("", "")

    def show_statistics(self, statistics: DataStatistics, plan: Plan | None, limit: int) -> None:
        """One epoch at `limit` tokens; `plan` (of the statistics' own length) gives the time."""
        document = self._document
        rows_a_step = _whole(document, "micro_batch_size") * _whole(document, "gradient_accumulation_steps")
        epoch = epoch_at(statistics, limit, rows_a_step)
        mark = str if epoch.exact else closed_form
        efficiency = {"padded": statistics.padded_efficiency, "packed": statistics.packing_efficiency}
        for key, (bar, share) in self._bars.items():
            known = epoch.exact and (key == "padded" or statistics.packing)
            bar.set_fraction(efficiency[key] if known else 0.0, percent(efficiency[key], 1))
            bar.set_token("good" if key == "packed" else "ac")
            share.setText(tr("{share} useful", share=percent(efficiency[key], 1)) if known else "–")
        self._sentence.setText(
            tr("Attention never crosses a row boundary.") if statistics.packing
            else tr("Each row takes a whole sequence; padding is computed and thrown away.")
        )  # fmt: skip
        trained = percent(epoch.trained_tokens / max(1, epoch.tokens))
        note = tr("{tokens} in the loss ({share})", tokens=compact(epoch.trained_tokens), share=trained)
        self.tokens.set_value(mark(compact(epoch.tokens)), note)
        padded = tr("{count} if padded", count=number(statistics.padded_blocks)) if epoch.exact else ""
        self.sequences.set_value(mark(number(epoch.sequences)), padded)
        self.steps.set_value(mark(number(epoch.steps)), _a_step(rows_a_step))
        seconds = plan.timeline.step_seconds * plan.timeline.steps_per_epoch if plan and epoch.exact else 0.0
        self.time.set_value(duration(seconds) if seconds else "", tr("predicted"))


def _a_step(rows: int) -> str:
    return plural(rows, "{count} sequence a step", "{count} sequences a step")


def _whole(document: RecipeDocument, key: str) -> int:
    value = document.value(key)
    return value if isinstance(value, int) else 1
