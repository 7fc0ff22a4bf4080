"""The reference sheet of every component in one theme, as the design's picture 09; only for screenshots and tests."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from ui import theme as themes
from ui.format import GIB
from ui.widgets.badge import BadgeLabel
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.chart_pens import DASHES, paint_series_sample
from ui.widgets.chip import Chip, FlowLayout
from ui.widgets.combo import Combo
from ui.widgets.dialog import Answer, ConfirmDialog
from ui.widgets.empty_state import EmptyState
from ui.widgets.error_card import ErrorCard
from ui.widgets.field import NumberField
from ui.widgets.hatches import CATEGORIES
from ui.widgets.memory_bar import MemoryBar, MemoryLegend, Segment
from ui.widgets.painting import rounded
from ui.widgets.phase_list import Phase, PhaseList
from ui.widgets.progress import Progress
from ui.widgets.segmented import SegmentedControl
from ui.widgets.setting_row import SettingRow
from ui.widgets.stepper import Stepper
from ui.widgets.text import KeyCap, Text
from ui.widgets.toast import Message, Toast
from ui.widgets.toggle import CheckBox, RadioButton, Toggle

_SWATCHES = ("bg0", "bg1", "bg2", "bg3", "bg4", "line", "line2", "ctl", "tx3", "tx2", "tx1", "ac", "ember")


class _Swatch(QWidget):
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token
        self.setFixedHeight(22)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = themes.current()
        painter = QPainter(self)
        rounded(painter, QRectF(self.rect()), 4, theme.color(self._token), theme.color("line2"))
        painter.end()


class _SeriesSample(QWidget):
    def __init__(self, slot: int) -> None:
        super().__init__()
        self._slot = slot
        self.setFixedSize(QSize(64, 14))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_series_sample(painter, QRectF(self.rect()), themes.current(), self._slot)
        painter.end()


class ComponentSheet(QWidget):
    """720 by 1100 px of components."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("surface", "bg1")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(20, 8, 20, 8)
        self._column.setSpacing(6)
        self._column.addWidget(Text("Components", size=18, weight=600))
        self._swatches()
        self._series_and_buttons()
        self._memory_and_fields()
        self._badges_and_bar()
        self._messages()
        self._more()

    def _section(self, title: str) -> Text:
        return Text(title, size=12, weight=600, tone="tx3")

    def _swatches(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(4)
        for token in _SWATCHES:
            column = QVBoxLayout()
            column.setSpacing(0)
            column.addWidget(_Swatch(token))
            label = Text(token, size=12, tone="tx3")
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(label)
            row.addLayout(column, 1)
        self._column.addLayout(row)

    def _series_and_buttons(self) -> None:
        left = QGridLayout()
        left.setVerticalSpacing(1)
        left.addWidget(self._section("Series: colour + dash + marker"), 0, 0, 1, 3)
        for slot in range(1, 9):
            left.addWidget(_SeriesSample(slot), slot, 0)
            left.addWidget(Text(f"s{slot}", size=12, tone="tx2"), slot, 1)
            dash = " ".join(f"{part:g}" for part in DASHES[slot - 1]) or "solid"
            left.addWidget(Text(dash, size=12, tone="tx3", mono=True), slot, 2, Qt.AlignmentFlag.AlignRight)
        right = QVBoxLayout()
        right.addWidget(self._section("Buttons"))
        grid = QGridLayout()
        off, off2 = Button("Launch", kind="primary"), Button("Pause")
        for button in (off, off2):
            button.setEnabled(False)
        rows = ((Button("Launch", kind="primary"), off, Button("Stop", icon="stop", kind="risky")),
                (Button("Pause"), off2, Button("Quiet", kind="quiet")))  # fmt: skip
        for row, buttons in enumerate(rows):
            for column, button in enumerate(buttons):
                grid.addWidget(button, row, column)
        right.addLayout(grid)
        right.addWidget(self._section("Toggles and progress"))
        right.addLayout(self._toggles())
        right.addStretch(1)
        both = QHBoxLayout()
        both.setSpacing(20)
        both.addLayout(left, 1)
        both.addLayout(right, 1)
        self._column.addLayout(both)

    def _toggles(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(10)
        for kind in (Toggle, CheckBox, RadioButton):
            for on in (False, True):
                mark = kind()
                mark.setAutoExclusive(False)
                mark.setAccessibleName(f"{kind.__name__}, {'on' if on else 'off'}")
                mark.setChecked(on)
                row.addWidget(mark)
        bar = Progress("progress")
        bar.set_fraction(0.55)
        row.addWidget(bar, 1)
        on_chip, off_chip = Chip("On"), Chip("Off")
        on_chip.setChecked(True)
        row.addWidget(on_chip)
        row.addWidget(off_chip)
        return row

    def _memory_and_fields(self) -> None:
        self._column.addWidget(self._section("Memory: own colours + hatch, for memory only"))
        flow = FlowLayout(gap=9)
        for category in CATEGORIES:
            flow.addWidget(MemoryLegend(category))
        self._column.addLayout(flow)
        self._column.addWidget(self._section("Fields"))
        row = QHBoxLayout()
        row.setSpacing(8)
        rest = SettingRow("Epochs", NumberField("Epochs", integer=True))
        changed = SettingRow("LoRA rank", NumberField("LoRA rank", integer=True))
        focus = SettingRow("Sequence length", NumberField("Sequence length", integer=True, unit="tokens"))
        wrong = SettingRow("Learning rate", NumberField("Learning rate"))
        combo = SettingRow("Schedule", Combo("Schedule", [("cosine", "Cosine"), ("linear", "Linear")]))
        for setting, value in ((rest, 2), (changed, 32), (focus, 2048), (wrong, 12)):
            assert isinstance(setting.field, NumberField)
            setting.field.set_value(value)
        changed.set_changed(True, "16")
        wrong.set_error("Use 1e-6 to 1e-2")
        for setting in (rest, changed, focus, wrong, combo):
            row.addWidget(setting, 1, Qt.AlignmentFlag.AlignTop)
        self._column.addLayout(row)

    def _badges_and_bar(self) -> None:
        left = QVBoxLayout()
        left.addWidget(self._section("State colours: used for nothing else"))
        row = QHBoxLayout()
        row.setSpacing(6)
        for text, state in (("Fits", "good"), ("Tight", "warn"), ("Doesn't fit", "bad"), ("Chosen", "accent")):
            row.addWidget(BadgeLabel(text, state))  # type: ignore[arg-type]  # the tuple holds states
        row.addWidget(BadgeLabel("emulated", "warn", icon=""))
        row.addStretch(1)
        left.addLayout(row)
        left.addWidget(SegmentedControl("Level", [("basic", "Basic"), ("advanced", "Advanced")]))
        keys = QHBoxLayout()
        keys.addWidget(KeyCap("F1"))
        keys.addWidget(Text("or rest the pointer", size=12, tone="tx2"))
        keys.addStretch(1)
        left.addLayout(keys)
        left.addStretch(1)
        right = QVBoxLayout()
        right.addWidget(self._section("Memory bar past capacity, and within it"))
        for scale in (1.0, 0.5):
            bar = MemoryBar("GPU memory", place_name="this GPU")
            sizes = (61.0, 1.0, 1.5, 2.2, 4.0, 1.9)
            parts = [Segment(c, s * scale * GIB) for c, s in zip(CATEGORIES[:6], sizes, strict=True)]
            bar.set_memory(parts, 48 * GIB, 46.8 * GIB)
            right.addWidget(bar)
        new_run = Button("New run", icon="plus", kind="primary", keys="Ctrl N")
        text = "Runs appear here, with their charts and settings."
        right.addWidget(EmptyState("No runs yet", text, dashed=True, actions=[new_run]))
        both = QHBoxLayout()
        both.setSpacing(20)
        both.addLayout(left, 1)
        both.addLayout(right, 1)
        self._column.addLayout(both)

    def _messages(self) -> None:
        left, right = QVBoxLayout(), QVBoxLayout()
        left.setSpacing(6)
        left.addWidget(self._section("Toasts"))
        for message in (
            Message("good", "Checkpoint saved", "Step 300, 3.2 GB, 1.9 s", "Show"),
            Message("accent", "Learning rate halved", "Plateau for 33 steps. Now 2.1e-5.", "Undo"),
            Message("bad", "Download stopped", "No network. 41.2 GB are kept.", "Resume"),
        ):
            toast = Toast(message, self)
            left.addWidget(toast)
        left.addStretch(1)
        right.addWidget(self._section("Dialog"))
        dialog = ConfirmDialog(
            "Close the window while a run trains?",
            "The engine is its own process and can go on.",
            [Answer("keep", "Keep training in the background", keys="↵"),
             Answer("stop", "Stop & save", "risky", "stop"), Answer("cancel", "Cancel", keys="Esc")],
        )  # fmt: skip
        frame = Card(surface="dialog")
        dialog.setWindowFlags(Qt.WindowType.Widget)
        frame.body.setContentsMargins(0, 0, 0, 0)
        frame.body.addWidget(dialog)
        right.addWidget(frame)
        right.addStretch(1)
        both = QHBoxLayout()
        both.setSpacing(20)
        both.addLayout(left, 1)
        both.addLayout(right, 1)
        self._column.addLayout(both)

    def _more(self) -> None:
        self._column.addWidget(self._section("Error state, steps, phases"))
        card = ErrorCard()
        card.show_error(
            "Run stopped: GPU memory ran out at step 88",
            "The step needed 48.6 GiB; 46.8 GiB were free. Checkpoint step 50 is safe.",
            actions=[Button("Resume from step 50", kind="primary"), Button("Make it fit")],
            report=lambda: "report",
        )
        self._column.addWidget(card)
        stepper = Stepper(["Model", "Data", "Method & plan"])
        stepper.set_step(0, "done", "Qwen3-32B · on disk")
        stepper.set_step(1, "done", "helpdesk-chats-v3 · 8.45 M tokens")
        stepper.set_step(2, "current", "LoRA · BF16")
        self._column.addWidget(stepper)
        phases = PhaseList()
        phases.set_phases([
            Phase("Reading model", "done", 1.0, "65.5 of 65.5 GB", "14 s"),
            Phase("Tokenising", "running", 0.6, "9 of 12", "about 4 s left"),
            Phase("Warm-up", "waiting", None, "0 of 3 steps"),
        ])  # fmt: skip
        self._column.addWidget(phases)
        self._column.addStretch(1)
