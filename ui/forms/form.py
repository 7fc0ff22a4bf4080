"""Forms made from the recipe schema. A form holds no values: it shows a RecipeDocument and edits it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from studio.errors import Problem
from studio.recipes import FIELDS, FieldSpec, Setting
from studio.recipes.document import RecipeDocument
from ui.format import general, percent
from ui.forms.binding import SHARE_OR_STEPS, Binding, bind
from ui.tr import plural, tr
from ui.widgets.setting_row import Arrangement, SettingRow
from ui.wording import Words, words_for


class SettingForm(QWidget):
    """Rows for `keys` in a grid: `columns` of the same width, or of the given proportions; useless keys are hidden.

    `layout_changed` is emitted when rows appear or go.
    """

    layout_changed = Signal()

    def __init__(
        self, document: RecipeDocument, keys: Sequence[str], *, columns: int | Sequence[int] = 1,
        wide: bool = False, parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._document = document
        self._rows: dict[str, SettingRow] = {}
        self._bindings: dict[str, Binding] = {}
        self._shares = [1] * columns if isinstance(columns, int) else list(columns)
        self._columns = len(self._shares)
        self._hidden: frozenset[str] = frozenset()
        self._others: list[Problem] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(0 if wide else 6)
        for key in keys:
            self._add(FIELDS[key], wide)
        unsubscribe = document.subscribe(lambda changed: self.refresh())
        self.destroyed.connect(lambda: unsubscribe())
        self.refresh()

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys of the form, shown or not."""
        return tuple(self._rows)

    def row(self, key: str) -> SettingRow:
        """The row of a key. Raises KeyError for one that the form has not."""
        return self._rows[key]

    def shown_keys(self) -> list[str]:
        """The keys whose rows can be seen."""
        used = set(self._document.shown_keys())
        return [key for key in self._rows if key in used and key not in self._hidden]

    def hide_keys(self, keys: frozenset[str]) -> None:
        """Hide rows besides those that the recipe makes useless: a search, or "Changed only"."""
        self._hidden = keys
        self._place()

    def refresh(self) -> None:
        """Show what the document holds: values, dots, defaults, problems."""
        for key, row in self._rows.items():
            self._bindings[key].show(_setting(self._document.value(key)))
            default = setting_words(FIELDS[key], _setting(self._document.default(key)))
            row.set_changed(self._document.is_changed(key), default)
        self._show_errors()
        self._place()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show these beside their fields too: what a plan found, and the recipe alone cannot tell."""
        if self._others != list(problems):
            self._others = list(problems)
            self._show_errors()  # and nothing else: somebody may be typing

    def _show_errors(self) -> None:
        problems = {problem.where: problem for problem in reversed([*self._document.problems(), *self._others])}
        for key, row in self._rows.items():
            problem = problems.get(key)
            words = words_for(problem) if problem is not None else Words("", "")
            row.set_error(words.remedy or words.what, str(words))

    def _add(self, spec: FieldSpec, wide: bool) -> None:
        key = spec.key
        binding = bind(spec, lambda value: self._document.set(key, value), lambda text: self._rows[key].set_error(text))
        tall = spec.kind in ("choices", "texts")
        arrangement: Arrangement = "wide" if wide and not tall else "inline" if spec.kind == "switch" else "stacked"
        row = SettingRow(tr(spec.label), binding.widget, help_text=tr(spec.help), arrangement=arrangement)
        row.setParent(self)  # a row without a parent is a window of its own when it is shown
        row.reset_wanted.connect(lambda: self._document.reset(key))
        if wide and tall:
            row.setContentsMargins(26, 4, 12, 6)
        elif self._columns > 1:
            row.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)  # so that shares are shares
            row.setMinimumWidth(60)
        self._rows[key], self._bindings[key] = row, binding

    def _place(self) -> None:
        shown = self.shown_keys()
        for key, row in self._rows.items():
            self._grid.removeWidget(row)
            row.setVisible(key in shown)
        line, column = 0, 0
        for key in shown:
            span = self._columns if FIELDS[key].kind in ("choices", "texts", "switch") else 1
            if column and column + span > self._columns:
                line, column = line + 1, 0
            self._grid.addWidget(self._rows[key], line, column, 1, span, Qt.AlignmentFlag.AlignTop)
            column += span
            if column >= self._columns:
                line, column = line + 1, 0
        for index, share in enumerate(self._shares):
            self._grid.setColumnStretch(index, share)
        for row_number in range(self._grid.rowCount()):
            self._grid.setRowStretch(row_number, 0)
        self._grid.setRowStretch(line + 1, 1)
        self.layout_changed.emit()


def setting_words(spec: FieldSpec, value: Setting) -> str:
    """A value as a person reads it: "0.999", "Cosine", "on", "7 of 7"."""
    if value is None or value == "" or value == ():
        return tr("none")
    if isinstance(value, bool):
        return tr("on") if value else tr("off")
    if isinstance(value, int | float):
        if spec.key in SHARE_OR_STEPS and 0 < value < 1:
            return tr("{share} of the run", share=percent(value, 0 if value >= 0.01 else 1))
        if spec.key in SHARE_OR_STEPS:
            return plural(round(value), "{count} step", "{count} steps") if value else tr("never")
        return f"{general(value)} {tr(spec.unit)}" if spec.unit else general(value)
    if isinstance(value, tuple):
        return tr("{count} of {total}", count=len(value), total=len(spec.choices)) if spec.choices else ", ".join(value)
    return tr(spec.choice_label(value))


def bind_undo(widget: QWidget, document: RecipeDocument, undo: str, redo: str) -> None:
    """Undo and redo keys while `widget` is seen; a text field that is being edited has its own undo first."""
    for keys, step in ((undo, document.undo), (redo, document.redo)):
        QShortcut(QKeySequence(keys), widget).activated.connect(step)


def _setting(value: object) -> Setting:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return tuple(str(item) for item in value)
    return str(value)
