"""Basic: the settings that a person changes most, in the order of the design, made from the schema."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.errors import Problem
from studio.recipes.document import RecipeDocument
from ui.forms.form import SettingForm
from ui.tr import tr
from ui.views.new_run.method_cards import MethodCards
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import batch_words
from ui.widgets.card import Card
from ui.widgets.text import IconLabel, RichText, Rule, Text

METHOD_KEYS = ("lora_rank", "lora_alpha", "precision", "lora_targets")
TRAINING_KEYS = (
    "micro_batch_size", "gradient_accumulation_steps", "sequence_length", "epochs", "learning_rate", "schedule",
    "evaluate_every", "checkpoint_every", "keep_best",
)  # fmt: skip


class Note(Card):
    """A quiet remark with an ⓘ."""

    def __init__(self, text: str = "") -> None:
        super().__init__(surface="well")
        self.text = RichText(text, size=12)
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(IconLabel("info", "ac", 14))
        row.addWidget(self.text, 1)
        self.body.setContentsMargins(12, 8, 12, 8)
        self.body.addLayout(row)


class MethodForm(QScrollArea):
    """The left column of Basic, 384 px of form."""

    def __init__(self, session: PlanSession, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._document = session, document
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(tr("Settings"))
        inside = QWidget()
        inside.setProperty("scrolled", True)
        self.cards = MethodCards(session, document)
        self.method = SettingForm(document, METHOD_KEYS, columns=3)
        self.training = SettingForm(document, TRAINING_KEYS, columns=(109, 144, 113))  # as wide as their labels
        self.batch = Note()
        head = QHBoxLayout()
        head.addWidget(Text(tr("Method"), size=12, weight=600, tone="tx3"))
        head.addStretch(1)
        head.addWidget(Text(tr("RAM at these settings"), size=12, tone="tx3"))
        column = QVBoxLayout(inside)
        column.setContentsMargins(20, 0, 20, 12)
        column.setSpacing(8)
        column.addLayout(head)
        for widget in (self.cards, self.method, self._machine_note(), Rule(), self.training, self.batch):
            column.addWidget(widget)
        column.addStretch(1)
        self.setWidget(inside)

    def refresh(self) -> None:
        """What depends on the plan: memory on the cards, problems beside fields, tokens a step."""
        self.cards.refresh()
        problems: list[Problem] = self._session.errors()
        for form in (self.method, self.training):
            form.show_problems(problems)
        self.batch.text.setText(
            f"{batch_words(self._document.recipe)} {tr('Warm-up, weight decay and seed are in Advanced.')}"
        )

    @staticmethod
    def _machine_note() -> Note:
        return Note(
            tr(
                "<b>On a CPU</b> there is one memory, so there is nothing to offload. The method is the same as on a "
                "GPU; only the clock differs."
            )
        )
