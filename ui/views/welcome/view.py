"""First start: what this machine can do, the demo in one click, and the other ways in."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from ui import theme as themes
from ui.context import Command, Context
from ui.recipe_files import RecipeButtons
from ui.tr import tr
from ui.view import View
from ui.views.welcome.checks_card import ChecksCard
from ui.views.welcome.demo_card import DemoCard
from ui.widgets.card import Card
from ui.widgets.text import IconLabel, Text


class WelcomeView(View):
    """Shown until the first launch; "New run" in the rail goes past it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.demo = DemoCard(context)
        self.checks = ChecksCard(context)
        self.checks.checked.connect(self._checked)
        self.title = Text(tr("Fine-tune a language model on this CPU"), size=24, weight=600)
        self.recipes = RecipeButtons(context, self, lambda: context.navigate("new", step="method"))
        self.recipes.open.set_kind("normal")
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        inside = QWidget()
        inside.setProperty("scrolled", True)
        scroll.setWidget(inside)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scroll)
        column = QVBoxLayout(inside)
        column.setContentsMargins(20, 20, 20, 20)
        column.setSpacing(20)
        column.addStretch(1)
        for widget in (self._headline(), self._cards(), self._other_ways()):
            widget.setMaximumWidth(themes.current().px(940))
            line = QHBoxLayout()
            line.addStretch(1)
            line.addWidget(widget, 100)
            line.addStretch(1)
            column.addLayout(line)
        column.addStretch(1)

    def arrive(self, **arguments: object) -> None:
        """Check the machine and plan the demo, both off the GUI thread."""
        self.checks.check()
        self.demo.arrive()

    def crumbs(self) -> Sequence[str]:
        """Where we are."""
        return (tr("Welcome"),)

    def commands(self) -> Sequence[Command]:
        """For Ctrl K."""
        return [
            Command(tr("Run the demo on CPU"), self.demo.launch, icon="play"),
            Command(tr("Pick a model"), self.demo.pick.click, icon="search"),
            Command(tr("Check again"), self.checks.check, icon="reset"),
        ]

    def _checked(self) -> None:
        gpu = self.checks.found.get("gpu")
        if gpu is not None and gpu.state != "good":
            self.title.setText(tr("No GPU found: you can still run the demo on CPU"))

    def _headline(self) -> QWidget:
        head = QWidget()
        row = QHBoxLayout(head)
        row.setContentsMargins(18, 0, 0, 8)
        row.setSpacing(36)
        row.addWidget(IconLabel("brand", "ember", 72))
        words = QVBoxLayout()
        words.setSpacing(8)
        about = tr(
            "The demo fine-tunes a small model on this machine's processor, so you can see every screen at work. "
            "Nothing leaves this computer."
        )
        words.addWidget(self.title)
        words.addWidget(Text(about, tone="tx2", wrap=True))
        row.addLayout(words, 1)
        return head

    def _cards(self) -> QWidget:
        pair = QWidget()
        row = QHBoxLayout(pair)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        row.addWidget(self.demo, 131)
        row.addWidget(self.checks, 100)
        self.demo.setProperty("pane", "demo")
        self.checks.setProperty("pane", "checks")
        return pair

    def _other_ways(self) -> Card:
        card = Card()
        row = QHBoxLayout()
        row.setSpacing(14)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Text(tr("Have a recipe already?"), weight=600))
        about = tr("A recipe holds model, data and every setting. Open one and go straight to its plan.")
        words.addWidget(Text(about, size=12, tone="tx2", wrap=True))
        row.addWidget(IconLabel("info", "ac", 16), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(self.recipes.open)
        card.body.setContentsMargins(16, 14, 16, 14)
        card.body.addLayout(row)
        return card
