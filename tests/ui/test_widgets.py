"""Controls, by key and by mouse, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.helpers.qt_walk import assert_walkable, find, too_small, unnamed
from ui.appearance import Appearance
from ui.component_sheet import ComponentSheet
from ui.fonts import RESOURCES
from ui.icons import pixmap
from ui.widgets.badge import BadgeLabel
from ui.widgets.button import Button, IconButton
from ui.widgets.card import KeyFigure
from ui.widgets.chip import Chip, FlowLayout
from ui.widgets.dialog import Answer, ConfirmDialog
from ui.widgets.error_card import ErrorCard
from ui.widgets.field import NumberField
from ui.widgets.focus_ring import FocusRing
from ui.widgets.length_histogram import LengthHistogram
from ui.widgets.log_drawer import LogDrawer, LogLine
from ui.widgets.nav_rail import Destination, NavRail
from ui.widgets.phase_list import Phase, PhaseList
from ui.widgets.progress import Progress
from ui.widgets.segmented import SegmentedControl
from ui.widgets.stepper import Stepper
from ui.widgets.toast import Message, ToastHost
from ui.widgets.token_layout import Fold, Token, lay_out
from ui.widgets.token_microscope import TokenMicroscope


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    QVBoxLayout(made)
    qtbot.addWidget(made)
    made.resize(640, 480)
    return made


def put(window: QWidget, *widgets: QWidget) -> None:
    """Show `widgets` in the window."""
    layout = window.layout()
    assert layout is not None
    for widget in widgets:
        layout.addWidget(widget)
    window.show()
    window.activateWindow()
    QTest.qWaitForWindowActive(window)


@pytest.mark.parametrize("path", sorted((RESOURCES / "icons").glob("*.svg")), ids=lambda path: path.stem)
def test_every_icon_draws(path: object, qtbot: QtBot) -> None:
    image = pixmap(getattr(path, "stem"), "tx1", 18).toImage()  # noqa: B009  # parametrize hands a Path as object
    assert any(image.pixelColor(x, y).alpha() for x in range(image.width()) for y in range(image.height()))


def test_the_sheet_of_all_components_draws_in_both_themes_and_sizes(qtbot: QtBot, appearance: Appearance) -> None:
    sheet = ComponentSheet()
    qtbot.addWidget(sheet)
    sheet.resize(720, 1150)
    sheet.show()
    pictures: list[QImage] = []
    for choice, scale in (("dark", 1.0), ("light", 1.0), ("dark", 1.5)):
        appearance.choose(choice)  # type: ignore[arg-type]  # the tuple holds choices
        appearance.set_scale(scale)
        pictures.append(sheet.grab().toImage())
    assert pictures[0] != pictures[1] != pictures[2]
    assert not unnamed(sheet), unnamed(sheet)
    appearance.set_scale(1.0)
    assert not too_small(sheet), too_small(sheet)


def test_button_grows_with_note_and_keys(window: QWidget) -> None:
    plain, rich = (
        Button("Launch run"),
        Button("Launch run", icon="play", note="2 min", keys="Ctrl Shift ↵", size="large"),
    )
    put(window, plain, rich, IconButton("bell", "Messages"))
    assert plain.height() == 28 and rich.height() == 40 and rich.sizeHint().width() > plain.sizeHint().width() + 100
    assert find(window, QPushButton, "Messages").toolTip() == "Messages"
    assert_walkable(window)


def test_focus_ring_shows_for_keys_and_not_for_the_mouse(window: QWidget) -> None:
    ring = FocusRing(window)
    first, second = Button("One"), Button("Two")
    put(window, first, second)
    second.setFocus(Qt.FocusReason.TabFocusReason)
    assert ring.ring is not None and ring.ring.geometry() == second.geometry().adjusted(-4, -4, 4, 4)
    second.hide()
    assert first.hasFocus() and ring.ring is not None, "it follows the focus"
    assert ring.ring.geometry() == first.geometry().adjusted(-4, -4, 4, 4)
    first.hide()
    assert ring.ring is None


def test_flow_layout_wraps(window: QWidget) -> None:
    holder = QWidget()
    flow = FlowLayout(holder, gap=8)
    chips = [Chip(f"Filter number {index}") for index in range(6)]
    for chip in chips:
        flow.addWidget(chip)
    holder.resize(300, 200)
    put(window, holder)
    window.resize(320, 300)
    QTest.qWait(1)
    rows = {chip.y() for chip in chips}
    assert len(rows) > 1 and all(chip.geometry().right() <= holder.width() for chip in chips)
    assert flow.heightForWidth(10_000) == 26 and flow.heightForWidth(300) >= 2 * 26 + 8


def test_number_field_steps_and_reads_thousands(window: QWidget) -> None:
    field = NumberField("Sequence length", integer=True, unit="tokens", step=64)
    put(window, field)
    seen: list[object] = []
    field.edited.connect(seen.append)
    field.set_value(2048)
    assert field.text() == "2,048"
    QTest.keyClick(field, Qt.Key.Key_Up)
    field.selectAll()
    QTest.keyClicks(field, "8 192")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert seen == [2112, 8192]
    assert field.height() == 30


def test_segmented_control_by_arrow_keys(window: QWidget) -> None:
    control = SegmentedControl("Level", [("basic", "Basic"), ("advanced", "Advanced")])
    put(window, control)
    seen: list[object] = []
    control.picked.connect(seen.append)
    control.button("basic").setFocus()
    QTest.keyClick(control.button("basic"), Qt.Key.Key_Right)
    assert control.value == "advanced" and seen == ["advanced"]
    control.set_value("basic")
    assert seen == ["advanced"], "setting tells nobody"
    assert_walkable(window)


def test_badge_explains_and_then_offers_the_remedy(window: QWidget) -> None:
    badge = BadgeLabel("Tight", "warn", explanation="3.8 of 46.8 usable GiB stay free.")
    put(window, badge)
    asked: list[bool] = []
    badge.remedy_wanted.connect(lambda: asked.append(True))
    QTest.keyClick(badge, Qt.Key.Key_Return)
    assert asked == []
    QTest.keyClick(badge, Qt.Key.Key_Return)
    assert asked == [True] and badge.accessibleDescription().startswith("3.8")
    assert badge.height() >= 24


def test_rail_and_stepper(window: QWidget) -> None:
    rail = NavRail([Destination("new", "plus", "New run"), Destination("gear", "gear", "Settings", foot=True)])
    stepper = Stepper(["Model", "Data", "Method & plan"])
    put(window, rail, stepper)
    routes, steps = [], []
    rail.picked.connect(routes.append)
    stepper.picked.connect(steps.append)
    rail.item("gear").click()
    rail.item("new").set_dot(True)
    assert routes == ["gear"] and "running" in rail.item("new").accessibleName()
    rail.select("nowhere")
    assert not rail.item("gear").isChecked()
    stepper.set_step(0, "done", "Qwen3-32B · on disk")
    stepper.steps[1].click()
    assert steps == [1] and stepper.steps[0].accessibleDescription() == "done. Qwen3-32B · on disk"
    rail.set_narrow(True)
    assert rail.width() == 48


def test_progress_key_figure_and_phases(window: QWidget) -> None:
    bar, figure, phases = Progress("Training"), KeyFigure("Step time"), PhaseList()
    put(window, bar, figure, phases)
    bar.set_fraction(0.6, "step 318 of 524")
    bar.set_notches([0.25, 0.5])
    picked: list[float] = []
    bar.notch_clicked.connect(picked.append)
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=QPoint(bar.width() // 2 + 3, 3))
    assert bar.fraction == pytest.approx(0.6) and picked == [0.5]
    figure.set_value("37.1 s", "8 micro-batches")
    assert figure.accessibleName() == "Step time: 37.1 s"
    figure.set_value("")
    assert figure.text == "–", "no figure is a dash, never a zero"
    phases.set_phases([Phase("Reading model", "running", 0.5, "1 of 2"), Phase("Warm-up", "waiting")])
    assert find(phases, Progress, "Reading model").fraction == 0.5
    phases.set_phases([Phase("Reading model", "done")])
    assert find(phases, Progress, "Reading model").fraction == 1.0


def test_toasts_are_at_most_three_and_all_are_kept(window: QWidget) -> None:
    put(window)
    host = ToastHost(window)
    done: list[str] = []
    for index in range(4):
        host.show(Message("good", f"Message {index}", action="Undo", on_action=lambda: done.append("undone")))
    assert [toast.message.title for toast in host.toasts] == ["Message 1", "Message 2", "Message 3"]
    assert len(host.history) == 4
    find(host.toasts[-1], QPushButton, "Undo").click()
    assert done == ["undone"] and len(host.toasts) == 2
    for toast in host.toasts:
        assert toast.geometry().right() <= window.width()
        toast.dismiss()


def test_dialog_defaults_to_the_safe_answer_and_esc_leaves(qtbot: QtBot) -> None:
    answers = [Answer("keep", "Keep training"), Answer("stop", "Stop & save", "risky"), Answer("cancel", "Cancel")]
    for key, expected in ((Qt.Key.Key_Return, "keep"), (Qt.Key.Key_Escape, "cancel")):
        dialog = ConfirmDialog("Close?", "The engine can go on.", answers)
        qtbot.addWidget(dialog)
        dialog.show()
        assert dialog.buttons["keep"].isDefault()
        QTest.keyClick(dialog, key)
        assert dialog.answer == expected and not dialog.isVisible()


def test_error_card_copies_its_report(window: QWidget, qapp: object) -> None:
    from PySide6.QtGui import QGuiApplication

    card = ErrorCard()
    put(window, card)
    card.show_error("Run stopped", "Step 50 is safe.", actions=[Button("Resume")], report=lambda: "the report")
    find(card, QPushButton, "Copy report").click()
    assert QGuiApplication.clipboard().text() == "the report"
    card.show_error("Another", actions=[Button("Try again")])
    QTest.qWait(1)
    assert find(card, QPushButton, "Try again") and not card.copy_button.isVisible()


def test_log_filters_and_searches(window: QWidget) -> None:
    drawer = LogDrawer()
    put(window, drawer)
    drawer.append([
        LogLine("14:31:52", "INFO", "step", "step 318 loss 0.784"),
        LogLine("14:20:39", "EVAL", "evaluation", "step 300 eval_loss 0.829"),
        LogLine("14:20:40", "WARN", "problem", "spike skipped"),
    ])  # fmt: skip
    assert len(drawer.shown_lines()) == 3
    drawer.kinds.button("problem").click()
    assert drawer.shown_lines() == ["14:20:40  WARN  spike skipped"]
    drawer.kinds.button("all").click()
    drawer.search.setText("eval_loss")
    assert len(drawer.shown_lines()) == 1
    drawer.append([LogLine("14:40:00", "EVAL", "evaluation", "step 350 eval_loss 0.81")])
    assert len(drawer.shown_lines()) == 2


def _row(text: Sequence[str]) -> list[Token]:
    return [Token(part, index, trained=index > 2, special=part.startswith("<|")) for index, part in enumerate(text)]


def test_tokens_wrap_and_fold() -> None:
    tokens = _row(["<|im_start|>", "user", "\n", "one", " two", "<|im_end|>", "\n", "<|im_start|>", "three"])
    boxes = lay_out(tokens, [], 1000, len, lambda token: token.visible)
    assert [box.line for box in boxes] == [0, 0, 0, 0, 0, 0, 0, 1, 1], "a line ends after the end of a turn"
    assert all(a.x + a.width <= b.x for a, b in pairwise(boxes) if a.line == b.line)
    narrow = lay_out(tokens, [], 12, len, lambda token: token.visible)
    assert max(box.x + box.width for box in narrow) <= 12
    folded = lay_out(tokens, [Fold(3, 6, "3 tokens folded")], 1000, len, lambda token: token.visible)
    assert [box.index for box in folded] == [0, 1, 2, 3, 6, 7, 8] and folded[3].text == "3 tokens folded"


def test_microscope_by_keys(window: QWidget) -> None:
    microscope = TokenMicroscope()
    put(window, microscope)
    microscope.set_tokens(_row(["<|im_start|>", "user", "\n", "one", " two", " three"]), [Fold(4, 6, "2 folded")])
    seen: list[int] = []
    microscope.current_changed.connect(seen.append)
    for _ in range(4):
        QTest.keyClick(microscope, Qt.Key.Key_Right)
    assert seen == [1, 2, 3, 4]
    QTest.keyClick(microscope, Qt.Key.Key_F)
    assert [box.index for box in microscope.boxes()] == [0, 1, 2, 3, 4, 5]
    assert "in the loss" in microscope.describe(4) and "read only" in microscope.describe(1)
    assert microscope.accessibleDescription() == microscope.describe(4)
    assert "↵" in microscope.describe(2)


def test_histogram_geometry_and_dragging(window: QWidget) -> None:
    chart = LengthHistogram()
    put(window, chart)
    chart.set_counts([100, 400, 25, 0], 128)
    chart.set_limit(256)
    assert chart.bar_height(400) == pytest.approx(chart.plot_rect().height())
    assert chart.bar_height(100) == pytest.approx(chart.plot_rect().height() / 2), "square root: a quarter is half"
    assert "500 rows below, 25 rows above" in chart.accessibleDescription()
    moved, rested = [], []
    chart.dragged.connect(moved.append)
    chart.limit_set.connect(rested.append)
    QTest.keyClick(chart, Qt.Key.Key_Left)
    assert chart.limit == 192 and rested == [192]
    at = QPoint(round(chart.x_of(130)), 60)
    QTest.mousePress(chart, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=at)
    assert chart.limit == 128 and moved[-1] == 128 and rested[-1] == 128, "it snaps to 64 tokens"


def test_walk_names_what_is_wrong(window: QWidget) -> None:
    good, nameless, tiny = Button("Named"), QPushButton(), QPushButton("x")
    tiny.setFixedSize(12, 12)
    row = QWidget()
    QHBoxLayout(row).addWidget(tiny)
    put(window, good, nameless, row)
    with pytest.raises(AssertionError, match="accessible name"):
        assert_walkable(window)
    nameless.setAccessibleName("Now named")
    with pytest.raises(AssertionError, match="Too small"):
        assert_walkable(window)
