"""Forms and the recipe document, both ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.recipes import FIELDS
from studio.recipes.document import RecipeDocument
from tests.helpers.qt_walk import assert_walkable, find
from ui.forms.binding import bind
from ui.forms.folds import FoldedForm
from ui.forms.form import SettingForm, bind_undo, setting_words
from ui.widgets.combo import Combo
from ui.widgets.field import NumberField
from ui.widgets.toggle import Toggle

KEYS = ("lora_rank", "lora_alpha", "micro_batch_size", "sequence_length", "learning_rate", "schedule", "packing")


@pytest.fixture
def document() -> RecipeDocument:
    return RecipeDocument()


@pytest.fixture
def form(qtbot: QtBot, document: RecipeDocument) -> Iterator[SettingForm]:
    holder = QWidget()
    qtbot.addWidget(holder)
    made = SettingForm(document, KEYS, columns=2)
    QVBoxLayout(holder).addWidget(made)
    bind_undo(holder, document, "Ctrl+Z", "Ctrl+Shift+Z")
    holder.resize(440, 500)
    holder.show()
    holder.activateWindow()
    QTest.qWaitForWindowActive(holder)
    yield made


def type_into(field: NumberField, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_typing_edits_the_document_and_marks_the_change(form: SettingForm, document: RecipeDocument) -> None:
    rank = find(form, NumberField, "LoRA rank")
    assert rank.value == document.default("lora_rank") and not form.row("lora_rank").changed
    type_into(rank, "64")
    assert document.recipe.lora_rank == 64
    assert form.row("lora_rank").changed
    type_into(rank, "")
    assert document.recipe.lora_rank is None, "an empty field is the default"
    assert rank.value == document.default("lora_rank")


def test_the_documents_changes_are_shown(form: SettingForm, document: RecipeDocument) -> None:
    document.set("learning_rate", 3e-5)
    assert find(form, NumberField, "Learning rate").text() == "3e-5"
    document.set("schedule", "linear")
    assert find(form, Combo, "Schedule").currentData() == "linear"
    document.set("packing", False)
    assert not find(form, Toggle, "Packing").isChecked()


def test_undo_and_redo_by_key(form: SettingForm, document: RecipeDocument, qtbot: QtBot) -> None:
    sequence = find(form, NumberField, "Sequence length")
    type_into(sequence, "4,096")
    assert document.recipe.sequence_length == 4096
    QTest.keyClick(sequence, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert document.recipe.sequence_length is None and sequence.text() == "2,048"
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(sequence, Qt.Key.Key_Z, both)
    assert document.recipe.sequence_length == 4096
    QTest.keyClicks(sequence, "9")
    QTest.keyClick(sequence, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert document.recipe.sequence_length == 4096, "while it is being edited, the field's own undo goes first"


def test_reset_by_key_and_by_button(form: SettingForm, document: RecipeDocument) -> None:
    field = find(form, NumberField, "Micro-batch size")
    document.set("micro_batch_size", 7)
    QTest.keyClick(field, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    assert document.recipe.micro_batch_size is None
    document.set("micro_batch_size", 7)
    form.row("micro_batch_size")._reset.click()
    assert document.recipe.micro_batch_size is None


def test_problems_stand_beside_their_field(form: SettingForm, document: RecipeDocument) -> None:
    document.set("lora_rank", 0)
    assert form.row("lora_rank").error.startswith("Use at least 1")
    assert form.row("lora_alpha").error == ""
    document.undo()
    assert form.row("lora_rank").error == ""
    type_into(find(form, NumberField, "LoRA rank"), "many")
    assert "many" in form.row("lora_rank").error and document.recipe.lora_rank is None


def test_useless_keys_are_hidden(form: SettingForm, document: RecipeDocument) -> None:
    assert form.row("lora_rank").isVisible()
    document.set("method", "full")
    assert not form.row("lora_rank").isVisible() and "lora_rank" not in form.shown_keys()
    document.undo()
    assert form.row("lora_rank").isVisible()


def test_choices_and_switches_by_mouse(form: SettingForm, document: RecipeDocument, qtbot: QtBot) -> None:
    qtbot.mouseClick(find(form, Toggle, "Packing"), Qt.MouseButton.LeftButton)
    assert document.recipe.packing is False
    combo = find(form, Combo, "Schedule")
    QTest.keyClick(combo, Qt.Key.Key_Down)
    assert document.recipe.schedule == combo.currentData()


def test_form_can_be_walked(form: SettingForm) -> None:
    assert_walkable(form)


def test_every_field_has_a_widget_with_its_label(qtbot: QtBot) -> None:
    for key, spec in FIELDS.items():
        if spec.kind in ("model", "datasets"):
            with pytest.raises(ValueError):
                bind(spec, lambda value: None, lambda text: None)
        else:
            widget = bind(spec, lambda value: None, lambda text: None).widget
            qtbot.addWidget(widget)
            assert isinstance(widget, Toggle) or widget.accessibleName() == spec.label, key


def test_advanced_form_searches_and_counts(qtbot: QtBot, document: RecipeDocument) -> None:
    form = FoldedForm(document)
    qtbot.addWidget(form)
    form.resize(520, 900)
    form.show()
    counts: list[tuple[int, int]] = []
    form.counted.connect(lambda changed, all: counts.append((changed, all)))
    document.set("weight_decay", 0.05)
    assert counts[-1][0] == 1 and counts[-1][1] == sum(len(fold.form.keys) for fold in form.folds.values())
    assert "1 of" in form.folds["optimizer"].header.accessibleName()
    form.show_changed_only(True)
    shown = [key for fold in form.folds.values() for key in fold.form.shown_keys()]
    assert shown == ["weight_decay"] and not form.folds["data"].isVisible()
    form.show_changed_only(False)
    form.search("weight decay")
    assert "weight_decay" in form.folds["optimizer"].form.shown_keys()
    assert "packing" not in form.folds["data"].form.shown_keys()
    form.search("")
    assert_walkable(form)


def test_a_closed_form_no_longer_listens(qtbot: QtBot, document: RecipeDocument) -> None:
    import shiboken6

    form = SettingForm(document, ("seed",))
    shiboken6.delete(form)
    document.set("seed", 7)
    assert document.recipe.seed == 7 and not document._subscribers


def test_settings_in_words() -> None:
    assert setting_words(FIELDS["packing"], True) == "on"
    assert setting_words(FIELDS["sequence_length"], 2048) == "2,048 tokens"
    assert setting_words(FIELDS["schedule"], "cosine") == "Cosine"
    assert setting_words(FIELDS["lora_targets"], ("q_proj", "v_proj")) == "2 of 7"
