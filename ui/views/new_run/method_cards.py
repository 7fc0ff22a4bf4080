"""Full or LoRA: a card each, with what it is for and the memory that it would need at these settings."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QWidget

from studio.recipes import FIELDS
from studio.recipes.document import RecipeDocument
from ui.format import memory
from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import STATES, budget_words
from ui.widgets.badge import BadgeLabel
from ui.widgets.card import Card
from ui.widgets.text import Text
from ui.widgets.toggle import RadioButton


class MethodCard(Card):
    """One method. All of it can be clicked; the keyboard goes to its radio button."""

    picked = Signal()

    def __init__(self, name: str, about: str, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.radio = RadioButton(name)
        self.radio.setAccessibleName(tr("Method: {name}", name=name))
        self.radio.setAccessibleDescription(about)
        self.badge = BadgeLabel("", "neutral")
        self.body.setSpacing(6)
        self.body.addWidget(self.radio)
        self.body.addWidget(Text(about, size=12, tone="tx2", wrap=True), 1, Qt.AlignmentFlag.AlignTop)
        self.body.addWidget(self.badge)
        self.radio.clicked.connect(self.picked)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_on(self, on: bool) -> None:
        """Show it as the chosen one, or not."""
        self.radio.setChecked(on)
        self.set_surface("selected" if on else "card")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click anywhere picks it."""
        self.radio.setFocus(Qt.FocusReason.MouseFocusReason)
        self.radio.click()


class MethodCards(QWidget):
    """The choice of `method`, made from the schema's choices; ember marks and undo work as in every form."""

    def __init__(self, session: PlanSession, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._document = session, document
        about = {
            "full": tr("Every weight learns. Best for new skills."),
            "lora": tr("Small adapters learn. The base stays as it is."),
        }
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self._group = QButtonGroup(self)
        self.cards: dict[str, MethodCard] = {}
        for value, label in sorted(FIELDS["method"].choices):
            card = MethodCard(tr(label), about[value])
            card.picked.connect(lambda value=value: self._document.set("method", value))
            self._group.addButton(card.radio)
            self.cards[value] = card
            row.addWidget(card, 1)

    def refresh(self) -> None:
        """Show the document's method and each card's memory."""
        chosen = self._document.value("method")
        for value, card in self.cards.items():
            card.set_on(value == chosen)
            planned = self._session.methods.get(value)
            plan = planned.plan if planned else None
            card.badge.setVisible(plan is not None)
            if plan is not None:
                budget = plan.budgets[0]
                card.badge.set_badge(
                    memory(budget.planned_bytes), STATES[plan.verdict], explanation=budget_words(budget)
                )
