"""Method and plan, by mouse and keys, over real studio objects and a tiny model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QPushButton, QRadioButton, QToolButton
from pytestqt.qtbot import QtBot

from studio.cli.__main__ import build_parser
from studio.cli.recipe_arguments import read_document
from studio.recipes import FIELDS, resolve
from tests.helpers.method_screen import MethodScreen, open_method_screen, tiny_recipe
from tests.helpers.qt_walk import assert_walkable, find
from ui.appearance import Appearance
from ui.widgets.combo import Combo
from ui.widgets.field import NumberField, TextField
from ui.widgets.memory_bar import MemoryBar
from ui.widgets.toggle import Toggle

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def screen(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[MethodScreen]:
    made = open_method_screen(qtbot, appearance, tmp_path, tiny_recipe(tmp_path))
    yield made
    made.close()


@pytest.fixture
def empty(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> Iterator[MethodScreen]:
    made = open_method_screen(qtbot, appearance, tmp_path, None)
    yield made
    made.close()


def type_into(field: TextField, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def click(screen: MethodScreen, kind: type[QAbstractButton], name: str) -> None:
    screen.qtbot.mouseClick(find(screen.window, kind, name), Qt.MouseButton.LeftButton)


def test_every_field_of_the_schema_is_in_the_form(screen: MethodScreen) -> None:
    keys = screen.page.advanced.keys()
    assert sorted(keys) == sorted(key for key, spec in FIELDS.items() if spec.kind not in ("model", "datasets"))
    basic = {*screen.page.basic.method.keys, *screen.page.basic.training.keys, "method", "name"}
    ours = [s.key for s in FIELDS.values() if s.level == "basic" and s.group not in ("model", "data")]
    assert basic >= set(ours)
    assert not [key for key in keys if key in ("offload", "qlora") or "fp8" in str(FIELDS[key].choices)]


def test_the_plan_is_shown_as_it_was_made(screen: MethodScreen) -> None:
    planned = screen.session.planned
    assert planned is not None and planned.plan is not None
    plan, panel = planned.plan, screen.page.panel
    assert panel.verdict.verdict.title.text() == "Fits" and "% free" in panel.verdict.verdict.line.text()
    speed, step, total, trained = panel.verdict.figures
    assert speed.text.endswith("tokens/s") and step.text.endswith("s") and total.text.endswith("s")
    assert trained.text == f"{plan.trainable_parameters:,}"
    bar = find(screen.page, MemoryBar, "System memory (RAM)")
    planned_bytes = sum(row.host_bytes for row in plan.memory)
    assert planned_bytes == plan.budgets[0].planned_bytes
    assert bar.used == planned_bytes + plan.budgets[0].other_bytes
    assert len(panel.reasons.lines()) == len(plan.reasons)
    assert "4 rows" in screen.page.basic.batch.text.text(), "2 rows × 2"


def test_an_edit_goes_to_the_document_and_to_a_new_plan(screen: MethodScreen) -> None:
    before = screen.session.planned
    type_into(find(screen.page, NumberField, "LoRA rank"), "8")
    assert screen.services.document.recipe.lora_rank == 8
    assert screen.session.approximate and screen.page.panel.verdict.figures[0].text.startswith("≈")
    screen.until_planned()
    after = screen.session.planned
    assert before and after and before.plan and after.plan
    assert after.plan.trainable_parameters == 2 * before.plan.trainable_parameters
    assert after.recipe == screen.services.document.recipe
    assert not screen.page.panel.verdict.figures[0].text.startswith("≈")


def test_the_latest_of_many_keystrokes_wins(screen: MethodScreen) -> None:
    field = find(screen.page, NumberField, "Micro-batch size")
    field.setFocus()
    for _ in range(6):
        QTest.keyClick(field, Qt.Key.Key_Up)
    screen.until_planned()
    assert screen.services.document.recipe.micro_batch_size == 8
    assert screen.session.planned is not None and screen.session.planned.plan is not None
    assert screen.session.planned.plan.numerics.micro_batch_size == 8


def test_method_cards_choose_and_tell_their_memory(screen: MethodScreen) -> None:
    cards = screen.page.basic.cards.cards
    assert all(card.badge.text().endswith("iB") for card in cards.values())
    click(screen, QRadioButton, "Method: Full")
    assert screen.services.document.recipe.method == "full"
    assert not screen.page.basic.method.row("lora_rank").isVisible()
    screen.until_planned()
    planned = screen.session.planned
    assert planned and planned.plan and planned.plan.numerics.method == "full"
    screen.press(Qt.Key.Key_Z, CTRL)
    assert screen.services.document.recipe.method is None and cards["lora"].radio.isChecked()


def test_problems_stand_beside_their_field_and_forbid_the_launch(screen: MethodScreen) -> None:
    type_into(find(screen.page, NumberField, "Sequence length"), "512")
    screen.until_planned()
    row = screen.page.basic.training.row("sequence_length")
    assert "256" in row.error, "the tiny model was made for 256 tokens, which only the plan knows"
    launch = find(screen.window, QPushButton, "Launch run")
    assert not launch.isEnabled() and "256" in launch.toolTip()
    click(screen, QPushButton, "Reset Sequence length")
    screen.until_planned()
    type_into(find(screen.page, NumberField, "Sequence length"), "48")
    screen.until_planned()
    assert row.error == "" and launch.isEnabled()


def test_without_a_model_the_page_says_what_is_missing(empty: MethodScreen) -> None:
    assert empty.page.panel.verdict.verdict.title.text() == "No plan yet"
    launch = find(empty.window, QPushButton, "Launch run")
    assert not launch.isEnabled() and "No model is chosen" in launch.toolTip()
    assert empty.page.step_state()[0] == "blocked"
    click(empty, QPushButton, "Go to Data")
    wizard = empty.window.pages.current_view()
    assert wizard is not None and getattr(wizard, "index") == 1  # noqa: B009  # mypy knows it as a View


@pytest.mark.scenario("S23")
def test_what_does_not_fit_is_refused_with_the_table_of_bytes_and_a_way_out(screen: MethodScreen) -> None:
    screen.services.document.edit({"micro_batch_size": 256, "sequence_length": 240, "gradient_accumulation_steps": 1})
    screen.until_planned()
    planned = screen.session.planned
    assert planned and planned.plan
    needed = planned.plan.budgets[0].planned_bytes
    screen.give_memory(round(needed * 0.9))
    panel = screen.page.panel
    assert panel.verdict.verdict.title.text() == "Doesn't fit" and "over" in panel.verdict.verdict.line.text()
    launch = find(screen.window, QPushButton, "Launch run")
    assert not launch.isEnabled() and "Nearest" in launch.toolTip()
    screen.page.bar.launch()
    assert screen.runs == [] and "activations" in panel.memory.view.bar.accessibleDescription()
    assert panel.advice.title.text() == "Make it fit"
    best = next(one for one in screen.session.planned.plan.proposals if one.recommended)  # type: ignore[union-attr]  # planned above
    apply = next(b for b in panel.advice.findChildren(QPushButton) if b.text() == "Apply" and b._kind == "normal")
    screen.qtbot.mouseClick(apply, Qt.MouseButton.LeftButton)
    for key, value in best.changes.items():
        assert screen.services.document.value(key) == value
    screen.until_planned()
    assert panel.verdict.verdict.title.text() != "Doesn't fit" and launch.isEnabled()
    screen.services.document.undo()
    assert screen.services.document.recipe.micro_batch_size == 256, "one step of undo took all of it back"


def test_make_it_faster_applies_in_one_step(screen: MethodScreen) -> None:
    screen.services.document.edit({"epochs": 8.0})
    screen.until_planned()
    faster = next(one for one in screen.session.faster if "epochs" in one.changes)
    total = screen.session.planned.plan.timeline.total_seconds  # type: ignore[union-attr]  # it was planned
    assert faster.total_seconds < total
    click(screen, QPushButton, "Apply Epochs: 4")
    screen.until_planned()
    assert screen.services.document.recipe.epochs == 4.0
    assert screen.session.planned.plan.timeline.total_seconds == pytest.approx(faster.total_seconds)  # type: ignore[union-attr]  # as above


def test_advanced_finds_and_shows_what_changed(screen: MethodScreen) -> None:
    screen.press(Qt.Key.Key_B, CTRL)
    assert screen.page.level.value == "advanced" and screen.page.advanced.isVisible()
    field = find(screen.page, TextField, "Find a setting")
    QTest.keyClicks(field, "beta 2")
    assert screen.page.advanced.shown_keys() == ["adam_beta2"]
    field.clear()
    click(screen, Toggle, "Changed only")  # type: ignore[type-abstract]  # mypy takes QAbstractButton's children for abstract
    shown = set(screen.page.advanced.shown_keys())
    assert shown == set(screen.services.document.changed_keys()) & set(screen.page.advanced.keys())
    click(screen, QToolButton, "Level: Basic")
    assert not screen.page.advanced.isVisible()


def test_the_list_of_changes_leads_back(screen: MethodScreen) -> None:
    document = screen.services.document
    count = len(document.changed_keys())
    assert screen.page.changes.accessibleName() == f"{count} settings changed"
    click(screen, QPushButton, f"{count} settings changed")
    popup = screen.page.changes.popup
    assert popup.isVisible()
    screen.qtbot.mouseClick(find(popup, QPushButton, "Reset LoRA rank to 16"), Qt.MouseButton.LeftButton)
    assert document.recipe.lora_rank is None and len(document.changed_keys()) == count - 1
    popup.hide()
    before = document.recipe
    click(screen, QPushButton, "Reset all")
    assert document.changed_keys() == [] and screen.page.changes.accessibleName() == "No settings changed"
    assert document.recipe.datasets == before.datasets and document.recipe.model == before.model
    document.undo()
    assert document.recipe == before


def test_ctrl_r_resets_the_focused_setting(screen: MethodScreen) -> None:
    rank = find(screen.page, NumberField, "LoRA rank")
    rank.setFocus()
    QTest.keyClick(rank, Qt.Key.Key_R, CTRL)
    assert screen.services.document.recipe.lora_rank is None and rank.text() == "16"


def test_the_command_line_means_the_same_recipe(screen: MethodScreen) -> None:
    screen.services.document.edit({"sample_prompts": ("What, now?", "Why?"), "packing": False})
    click(screen, QPushButton, "Copy the command")
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["anneal", "train"]
    given = build_parser().parse_args(words[1:])
    document = read_document(screen.services.studio, given.recipe, given.settings)
    assert resolve(document.recipe) == resolve(screen.services.document.recipe)


def test_typing_survives_a_plan_that_arrives(screen: MethodScreen) -> None:
    name = find(screen.window, TextField, "Name")
    name.setFocus()
    QTest.keyClicks(name, "half a na")
    screen.session.refresh()
    screen.until_planned()
    assert name.text() == "half a na"
    QTest.keyClick(name, Qt.Key.Key_Return)
    assert screen.services.document.recipe.name == "half a na"


def test_measuring_the_machine_makes_a_new_plan(screen: MethodScreen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "assumed" in screen.page.panel.speed.basis.text()
    machine = replace(screen.services.machine(), matmul_flops=1e9, memory_bandwidth=1e9, measured=True)
    monkeypatch.setattr(screen.services.studio.rates, "measure", lambda machine: machine)
    monkeypatch.setattr(screen.services.planning, "_machine", lambda: machine)
    click(screen, QPushButton, "Measure this machine")
    screen.qtbot.waitUntil(lambda: "were measured" in screen.page.panel.speed.basis.text(), timeout=30_000)
    screen.until_planned()
    assert not screen.page.panel.speed.measure.isVisible()
    assert screen.page.panel.verdict.figures[0]._note.text() == "predicted"


def test_both_levels_can_be_walked(screen: MethodScreen) -> None:
    assert_walkable(screen.page)
    screen.page.show_level("advanced")
    assert_walkable(screen.page)
    assert_walkable(screen.page.bar)


def test_choices_come_from_the_schema(screen: MethodScreen) -> None:
    combo = find(screen.page, Combo, "Precision")
    assert [combo.itemData(i) for i in range(combo.count())] == [value for value, _ in FIELDS["precision"].choices]
