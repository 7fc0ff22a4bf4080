"""The phases of a launch or a resume, while nothing can be charted yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from ui import theme as themes
from ui.icons import paint_icon
from ui.widgets.badge import shape_of
from ui.widgets.progress import Progress
from ui.widgets.text import Rule, Text

PhaseState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True)
class Phase:
    """One phase of a launch: its name, how far it is (0 to 1, None: unknown), its count and its time in words."""

    name: str
    state: PhaseState
    fraction: float | None = None
    count: str = ""
    time: str = ""


class PhaseMark(QWidget):
    """Disc with tick, arc, ring or boxed cross."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state: PhaseState = "waiting"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_state(self, state: PhaseState) -> None:
        """Show a state."""
        self._state = state
        self.update()

    def sizeHint(self) -> QSize:
        """14 px."""
        side = themes.current().px(14)
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The mark."""
        painter = QPainter(self)
        names = {"waiting": ("ring", "tx3"), "running": ("half-disc", "ac"), "done": (shape_of("good"), "good")}
        name, token = names.get(self._state, (shape_of("bad"), "bad"))
        paint_icon(painter, QRectF(self.rect()), name, token)
        painter.end()


class PhaseList(QWidget):
    """Phases in their order, each with mark, bar, count and time."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(12)
        self._grid.setColumnStretch(2, 1)
        self._rows: list[tuple[PhaseMark, Text, Progress, Text, Text]] = []

    def set_phases(self, phases: Sequence[Phase]) -> None:
        """Show `phases`; rows are reused."""
        while len(self._rows) < len(phases):
            self._add_row()
        for row, (phase, widgets) in enumerate(zip(phases, self._rows, strict=False)):
            mark, name, bar, count, time = widgets
            mark.set_state(phase.state)
            name.setText(phase.name)
            name.set_tone("tx3" if phase.state == "waiting" else "tx1")
            bar.setAccessibleName(phase.name)
            bar.set_token({"done": "good", "failed": "bad"}.get(phase.state, "ac"))
            fraction = 1.0 if phase.state == "done" else phase.fraction or 0.0
            bar.set_fraction(fraction, f"{phase.count} {phase.time}".strip())
            count.setText(phase.count)
            time.setText(phase.time)
            for widget in widgets:
                widget.setVisible(True)
            self._grid.setRowMinimumHeight(2 * row, themes.current().px(20))
        for extra in self._rows[len(phases) :]:
            for widget in extra:
                widget.setVisible(False)

    def _add_row(self) -> None:
        row = 2 * len(self._rows)
        mark, name, bar = PhaseMark(), Text("", weight=500), Progress("", 6)
        count, time = Text("", size=12, tone="tx2"), Text("", size=12, tone="tx3")
        for label in (count, time):
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        widgets = (mark, name, bar, count, time)
        for column, widget in enumerate(widgets):
            self._grid.addWidget(widget, row, column)
        self._grid.addWidget(Rule(), row + 1, 0, 1, 5)
        self._rows.append(widgets)
