"""What the self-test of an export said, and the model card that lies in its folder."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QWidget

from studio.exports.running import SelfTest, failure, self_test
from studio.runs.rows import ExportRow
from ui.format import number
from ui.tr import tr
from ui.views.export.words import format_name, logit, result_badge, verdict_line
from ui.widgets.badge import BadgeLabel, State, shape_of
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.markdown_card import MarkdownCard
from ui.widgets.text import IconLabel, Text
from ui.wording import words_for

_CARD_BYTES = 200_000


class CheckRow(QWidget):
    """A line of the result: what was compared, and what came of it with its state."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name, self.value = Text("", size=12, tone="tx2", elide=True), Text("", size=12, weight=500)
        self.icon = IconLabel("disc-check", "good", 14)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.name, 1)
        row.addWidget(self.icon)
        row.addWidget(self.value)

    def say(self, name: str, value: str, state: State) -> None:
        """Show it."""
        self.name.setText(name)
        self.value.setText(value)
        self.icon.set_icon(shape_of(state) or "info", state if state != "neutral" else "tx3")
        self.setAccessibleName(f"{name}: {value}")


class ResultCard(Card):
    """Green or red, with the figures and, where it is red, the reasons."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Self-test"), parent=parent)
        self.setAccessibleName(tr("Self-test"))
        self.badge = BadgeLabel("", "neutral")
        self.add_to_header(self.badge)
        self.verdict = Text("", size=12, tone="tx2", wrap=True)
        self.rows = [CheckRow() for _ in range(4)]
        self.reasons = Text("", size=12, tone="bad", wrap=True)
        self.reasons.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.hash = Text("", size=12, tone="tx3", mono=True, elide=True)
        self.copy = Button(tr("Copy hash"), icon="copy", kind="quiet")
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.hash.text()))
        self.body.addWidget(self.verdict)
        for row in self.rows:
            self.body.addWidget(row)
        self.body.addWidget(self.reasons)
        self._grid = QGridLayout()
        self._grid.addWidget(Text(tr("SHA-256"), size=12, tone="tx2"), 0, 0)
        self._grid.addWidget(self.hash, 0, 1)
        self._grid.addWidget(self.copy, 0, 2)
        self._hash_row = QWidget()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._hash_row.setLayout(self._grid)
        self.body.addWidget(self._hash_row)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.show_export(None)

    def show_export(self, row: ExportRow | None) -> None:
        """Show the result of an export, or what will stand here."""
        test = self_test(row) if row else None
        problem = failure(row) if row else None
        self.meta.setText(format_name(row.format) if row else "")
        self.badge.setVisible(row is not None)
        self._hash_row.setVisible(bool(row and row.sha256))
        for line in self.rows:
            line.setVisible(test is not None and test.largest_logit_difference is not None)
        self.reasons.setVisible(bool(test and test.reasons))
        if row is None:
            self.verdict.set_tone("tx2")
            self.verdict.setText(tr("Each export is loaded afresh in its own process and compared with the live model."
                                    " The result stands here."))  # fmt: skip
            self.badge.setVisible(False)
            return
        text, state, why = result_badge(row)
        self.badge.set_badge(text, state, explanation=why)
        self.hash.setText(row.sha256)
        if test is None:
            self.verdict.set_tone("bad" if problem else "tx2")
            self.verdict.setText(str(words_for(problem)) if problem else why or tr("The self-test has not ended yet."))
            return
        self.verdict.set_tone("good" if test.passed else "bad")
        self.verdict.setText(verdict_line(test))
        self._show_test(row, test)

    def _show_test(self, row: ExportRow, test: SelfTest) -> None:
        difference = test.largest_logit_difference
        near = difference is not None and difference <= test.logit_limit
        tensors = not any(reason.startswith("tensor") for reason in test.reasons)
        template = not any(reason.startswith(("template", "tokens")) for reason in test.reasons)
        same = test.equal_texts == test.prompts > 0
        equal = tr("{equal} of {total} prompts", equal=number(test.equal_texts), total=number(test.prompts))
        said = (
            tr("{difference}, limit {limit}", difference=logit(difference), limit=logit(test.logit_limit))
            if difference is not None
            else tr("not measured")
        )
        parted = any(reason.startswith("text") for reason in test.reasons)  # where two tokens tie it is no fault
        unlike = parted or (not same and not test.passed)
        lines: tuple[tuple[str, str, State], ...] = (
            (tr("Tensors equal the checkpoint"), tr("yes") if tensors else tr("no"), "good" if tensors else "bad"),
            (tr("Template and tokens"), tr("equal") if template else tr("differ"), "good" if template else "bad"),
            (tr("Greedy text equals the live model"), equal, "bad" if unlike else "good"),
            (tr("Largest logit difference"), said, "good" if near else "bad"),
        )
        for line, (name, value, state) in zip(self.rows, lines, strict=True):
            line.say(name, value, state)
        self.reasons.setText("\n".join(test.reasons))
        self.setAccessibleDescription(f"{format_name(row.format)}. {self.verdict.text()}")


class CardPreview(Card):
    """The README of an export, as it lies in its folder."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Model card"), "README.md", parent=parent)
        self.setAccessibleName(tr("Model card"))
        well = Card(surface="well")
        self.text = MarkdownCard(tr("Model card, text"))
        well.body.setContentsMargins(8, 4, 4, 4)
        well.body.addWidget(self.text)
        self.body.addWidget(well, 1)

    def show_text(self, text: str) -> None:
        """Show it, or what will stand here."""
        self.text.show_markdown(text or tr("Written with each export: base model, method, step, hash, and how to"
                                           " load it."))  # fmt: skip


def read_card(export: ExportRow) -> str:
    """The text of an export's README, "" where there is none. Blocking."""
    try:
        with (Path(export.path) / "README.md").open(encoding="utf-8", errors="replace") as file:
            return file.read(_CARD_BYTES)
    except OSError:
        return ""
