"""Which revision of a model: a branch or tag, and whether its commit of today is pinned in the recipe."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui import theme as themes
from ui.tr import tr
from ui.viewmodels.model_facts import ModelFacts
from ui.widgets.combo import Combo
from ui.widgets.text import Text
from ui.widgets.toggle import CheckBox


class RevisionRow(QWidget):
    """`picked` carries a branch, a tag or a commit. A folder has no revisions: only the title stays."""

    picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: ModelFacts | None = None
        self._branch = "main"
        self._label = Text(tr("Revision"), size=12, tone="tx3")
        self.combo = Combo(tr("Revision"), mono=True)
        self.pin = CheckBox(tr("Pin"))
        self.pin.setAccessibleName(tr("Pin the commit"))
        self.pin.setToolTip(tr("The recipe names this commit, whatever the branch becomes. A launch pins it anyway."))
        self.combo.setMinimumWidth(themes.current().px(170))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(Text(tr("Files"), size=12, weight=600, tone="tx2"), 1)
        for widget in (self._label, self.combo, self.pin):
            row.addWidget(widget)
        self.combo.picked.connect(lambda value: self.picked.emit(str(value)))
        self.pin.clicked.connect(self._pinned)

    def show_revision(self, facts: ModelFacts) -> None:
        """The revision in force among those that there are."""
        self._facts = facts
        revision = facts.reference.revision or "main"
        pinned = revision == facts.commit
        if not pinned:
            self._branch = revision
        names = {found.name: found.commit for found in facts.revisions} or {revision: facts.commit}
        names.setdefault(revision, facts.commit)
        self.combo.set_choices([
            (name, commit[:7] if name == commit else f"{name} @ {commit[:7]}") for name, commit in names.items()
        ])  # fmt: skip
        self.combo.set_value(revision)
        self.pin.setChecked(pinned)
        for widget in (self._label, self.combo, self.pin):
            widget.setVisible(facts.reference.source == "hub" and bool(facts.commit))

    def _pinned(self, pinned: bool) -> None:
        if self._facts is not None:
            self.picked.emit(self._facts.commit if pinned else self._branch)
