"""One recipe key and its widget: what the key holds is shown, what a person does is set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from studio.recipes import FieldSpec, Setting
from ui.tr import tr
from ui.widgets.choices_field import ChoicesField
from ui.widgets.combo import Combo
from ui.widgets.field import NumberField, TextField
from ui.widgets.lines_field import LinesField
from ui.widgets.toggle import Toggle

SHARE_OR_STEPS = ("evaluate_every", "checkpoint_every")
"""Settings whose number is a share of the run below 1, and optimizer steps from 1 on: their unit follows the value."""

Take = Callable[[Setting], None]
Refuse = Callable[[str], None]


@dataclass(frozen=True)
class Binding:
    """A widget for one key and how to show a value in it."""

    widget: QWidget
    show: Callable[[Setting], None]


def bind(spec: FieldSpec, take: Take, refuse: Refuse) -> Binding:
    """The widget for a field's kind.

    `take` gets each value that the user gave (None: back to the default), `refuse` a sentence about a text that is no
    value at all. Raises ValueError for `model` and `datasets`, which have screens of their own.
    """
    label = tr(spec.label)
    match spec.kind:
        case "integer" | "number":
            return _number(spec, label, take, refuse)
        case "switch":
            switch = Toggle()
            switch.clicked.connect(take)
            return Binding(switch, lambda value: switch.setChecked(bool(value)))
        case "choice":
            combo = Combo(label, [(value, tr(text)) for value, text in spec.choices])
            combo.picked.connect(take)
            return Binding(combo, combo.set_value)
        case "choices":
            chips = ChoicesField(label, [(value, tr(text)) for value, text in spec.choices])
            chips.picked.connect(take)
            return Binding(chips, lambda value: chips.set_value(value if isinstance(value, tuple) else ()))
        case "texts":
            lines = LinesField(label, tr("One a line"))
            lines.edited.connect(take)
            return Binding(lines, lambda value: lines.set_value(value if isinstance(value, tuple) else ()))
        case "text":
            text = TextField(label)
            text.editingFinished.connect(lambda: _take_text(text, take))
            return Binding(text, lambda value: _show_text(text, str(value or "")))
        case _:
            raise ValueError(f"{spec.key} has a screen of its own, not a field.")


def _take_text(field: TextField, take: Take) -> None:
    if field.isModified():
        field.setModified(False)
        take(field.text().strip() or None)


def _show_text(field: TextField, text: str) -> None:
    """From its beginning; what is being typed stays."""
    if not field.isModified():
        field.setText(text)
        field.setCursorPosition(0)


def _number(spec: FieldSpec, label: str, take: Take, refuse: Refuse) -> Binding:
    field = NumberField(
        label, integer=spec.kind == "integer", unit=tr(spec.unit) if spec.unit else "", step=_step(spec)
    )

    def edited(value: object) -> None:
        if value is None and field.text().strip():
            refuse(tr("{text} is no number. Give {range}.", text=field.text().strip(), range=spec.range_text()))
        else:
            take(value if isinstance(value, int | float) else None)

    def show(value: Setting) -> None:
        held = value if isinstance(value, int | float) else None
        field.set_value(held)
        if spec.key in SHARE_OR_STEPS:
            field.set_note("" if not held else tr("× run") if held < 1 else tr("steps"))

    field.edited.connect(edited)
    return Binding(field, show)


def _step(spec: FieldSpec) -> float:
    if spec.kind == "integer":
        return 1
    return 0.01 if spec.maximum is not None and spec.maximum <= 1 else 0.1
