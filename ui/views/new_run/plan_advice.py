"""What to change, why it was decided so, and what is wrong: the cards below the memory bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from studio.recipes import FIELDS
from studio.recipes.document import RecipeDocument
from ui.format import duration, memory, percent
from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import STATES, change_words, verdict_words
from ui.widgets.badge import BadgeLabel, shape_of
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.text import IconLabel, Rule, Text
from ui.wording import reason_words, subject_words, words_for

_LABELS = {key: spec.label for key, spec in FIELDS.items()}


def clear(layout: QVBoxLayout | QGridLayout) -> None:
    """Remove every widget of a layout."""
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()  # at once; deleting waits for the event loop
            widget.deleteLater()


class AdviceRow(QWidget):
    """One change that can be applied."""

    def __init__(
        self, icon: str, token: str, changes: Mapping[str, object], facts: tuple[str, str], *, recommended: bool,
        apply: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__()
        words = change_words(changes)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 2, 0, 2)
        row.setSpacing(8)
        row.addWidget(IconLabel(icon, token, 14))
        row.addWidget(Text(words, weight=500, elide=True), 1)
        if recommended:
            row.addWidget(BadgeLabel(tr("Recommended"), "accent", explanation=tr("Costs least of what is enough.")))
        for fact in facts:
            text = Text(fact, size=12, tone="tx2")
            text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            row.addWidget(text)
        button = Button(tr("Apply"), kind="normal" if recommended else "link")
        button.setAccessibleName(tr("Apply {change}", change=words))
        button.clicked.connect(lambda: apply())
        row.addWidget(button)


class AdviceCard(Card):
    """ "Make it fit" while it does not, else "Make it faster". Apply is one step of undo."""

    def __init__(self, session: PlanSession, document: RecipeDocument, parent: QWidget | None = None) -> None:
        super().__init__(tr("Make it faster"), tr("one click, undo with Ctrl Z"), parent=parent)
        self._session, self._document = session, document
        self._rows = QVBoxLayout()
        self._rows.setSpacing(0)
        self.none = Text("", size=12, tone="tx3", wrap=True)
        self.body.addLayout(self._rows)
        self.body.addWidget(self.none)
        self.body.addStretch(1)
        self._shown: object = None

    def refresh(self) -> None:
        """Show the session's proposals."""
        plan = self._session.planned.plan if self._session.planned else None
        self.setVisible(plan is not None)
        shown = (plan, self._session.faster)
        if shown == self._shown:
            return
        self._shown = shown
        clear(self._rows)
        fitting = plan is not None and plan.verdict != "fits"
        self.title.setText(tr("Make it fit") if fitting else tr("Make it faster"))
        self.setAccessibleName(self.title.text())
        rows = self._fit_rows() if fitting else self._faster_rows()
        for index, row in enumerate(rows):
            if index:
                self._rows.addWidget(Rule())
            self._rows.addWidget(row)
        self.none.setVisible(not rows)
        self.none.setText(
            tr("No change of settings would be enough: choose a smaller model.")
            if fitting
            else tr("Nothing to propose: no change that keeps the data would save much time.")
        )

    def _fit_rows(self) -> list[AdviceRow]:
        plan = self._session.planned.plan if self._session.planned else None
        found = []
        for one in plan.proposals if plan else ():
            state = STATES[one.verdict]
            slower = tr("time unknown") if one.slower is None else _slower(one.slower)
            frees = tr("frees {size}", size=memory(one.frees_bytes))
            row = AdviceRow(
                shape_of(state), state, one.changes, (frees, slower), recommended=one.recommended,
                apply=lambda changes=dict(one.changes): self._document.edit(changes),  # type: ignore[misc]  # bound now
            )  # fmt: skip
            row.setToolTip(verdict_words(one.verdict))
            found.append(row)
        return found

    def _faster_rows(self) -> list[AdviceRow]:
        costs = {
            "nothing": tr("costs nothing"), "memory": tr("more memory"), "adapters": tr("adapters only"),
            "passes": tr("less training"), "evaluations": tr("fewer evaluations"), "quality": tr("small quality risk"),
        }  # fmt: skip
        rows = []
        for one in self._session.faster:
            facts = (duration(one.total_seconds), costs[one.costs])
            row = AdviceRow(
                "bolt", "tx2", one.changes, facts, recommended=one.costs in ("nothing", "memory"),
                apply=lambda changes=dict(one.changes): self._document.edit(changes),  # type: ignore[misc]  # bound now
            )  # fmt: skip
            rows.append(row)
        return rows


class ReasonsCard(Card):
    """Why these choices."""

    def __init__(self, session: PlanSession, parent: QWidget | None = None) -> None:
        super().__init__(tr("Why these choices"), parent=parent)
        self._session = session
        copy = Button(tr("Copy"), icon="copy", kind="quiet")
        copy.setAccessibleName(tr("Copy the reasons"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText("\n".join(": ".join(p) for p in self.lines())))
        self.add_to_header(copy)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnMinimumWidth(0, 128)
        self._grid.setColumnStretch(1, 1)
        self.body.addLayout(self._grid)
        self.body.addStretch(1)
        self._shown: list[tuple[str, str]] = []

    def lines(self) -> list[tuple[str, str]]:
        """(subject, reason), as shown."""
        plan = self._session.planned.plan if self._session.planned else None
        return [(subject_words(one, _LABELS), reason_words(one)) for one in plan.reasons] if plan else []

    def refresh(self) -> None:
        """Show the session's reasons."""
        lines = self.lines()
        self.setVisible(bool(lines))
        if lines == self._shown:
            return
        self._shown = lines
        clear(self._grid)
        for row, (subject, reason) in enumerate(lines):
            self._grid.addWidget(Text(subject, size=12, weight=500), row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(Text(reason, size=12, tone="tx2", wrap=True), row, 1)


class ProblemsCard(Card):
    """Everything that forbids the launch or should be known before, each with what to do. Hidden where all is well."""

    def __init__(
        self, session: PlanSession, document: RecipeDocument, go: Callable[[str], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(tr("To mend before launch"), parent=parent)
        self._session, self._document, self._go = session, document, go
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self.body.addLayout(self._rows)
        self._shown: object = None

    def refresh(self) -> None:
        """Show the session's problems."""
        session = self._session
        warnings = [p for p in session.planned.problems if p.severity != "error"] if session.planned else []
        shown: list[object] = [*session.errors(), *warnings]
        if session.failure is not None:
            shown.insert(0, session.failure)
        self.setVisible(bool(shown))
        if shown == self._shown:
            return
        self._shown = shown
        clear(self._rows)
        errors = len(shown) - len(warnings)
        self.title.setText(tr("To mend before launch") if errors else tr("Good to know"))
        self.setAccessibleName(self.title.text())
        for index, problem in enumerate(shown):
            self._rows.addWidget(self._row(problem, is_error=index < errors))

    def _row(self, problem: object, *, is_error: bool) -> QWidget:
        words = words_for(problem)
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        icon = IconLabel("boxed-cross" if is_error else "warning", "bad" if is_error else "warn", 14)
        line.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        texts.setSpacing(1)
        texts.addWidget(Text(words.what, size=12, weight=500, wrap=True))
        if words.remedy:
            texts.addWidget(Text(words.remedy, size=12, tone="tx2", wrap=True))
        line.addLayout(texts, 1)
        button = self._way_out(str(getattr(problem, "where", "")))
        if button is not None:
            line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _way_out(self, where: str) -> Button | None:
        """To the page that mends it, or back to the default: the field itself may be hidden by another setting."""
        step = {"model": "model", "datasets": "data", "evaluation_datasets": "data"}.get(where)
        if step is not None:
            button = Button(tr("Go to Model") if step == "model" else tr("Go to Data"), kind="link")
            button.clicked.connect(lambda: self._go(step))
            return button
        if where in FIELDS and self._document.is_changed(where):
            button = Button(tr("Reset {label}", label=tr(FIELDS[where].label)), kind="link")
            button.clicked.connect(lambda: self._document.reset(where))
            return button
        return None


def _slower(share: float) -> str:
    if abs(share) < 0.005:
        return tr("no slower")
    return tr("{share} slower", share=percent(share)) if share > 0 else tr("{share} faster", share=percent(-share))
