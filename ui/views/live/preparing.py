"""Before the first step: the phases with progress and time, and nothing that could be taken for a measurement."""

from __future__ import annotations

import msgspec
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.format import about, duration
from ui.tr import tr
from ui.viewmodels.live_run import Snapshot
from ui.viewmodels.run_words import phase_count, phase_words
from ui.widgets.card import Card
from ui.widgets.phase_list import Phase, PhaseList
from ui.widgets.text import IconLabel, Text


class PreparingPage(QWidget):
    """Phases as the engine tells of them: done, running."""

    def __init__(self) -> None:
        super().__init__()
        self.title = Text("", size=15, weight=600)
        self.detail = Text("", size=15, tone="tx2")
        self.phases = PhaseList()
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(IconLabel("bolt", "ac", 18))
        line.addWidget(self.title)
        line.addWidget(self.detail, 1)
        card = Card()
        card.body.setContentsMargins(18, 14, 18, 14)
        card.body.setSpacing(18)
        card.body.addLayout(line)
        card.body.addWidget(self.phases)
        note = QHBoxLayout()
        note.addWidget(IconLabel("info", "tx3", 14))
        note.addWidget(
            Text(tr("Charts appear with the first step. Until then nothing is drawn, no zeros either."), size=12,
                 tone="tx3"), 1
        )  # fmt: skip
        card.body.addLayout(note)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 12, 20, 12)
        column.addWidget(card)
        column.addStretch(1)

    def show_run(self, shot: Snapshot) -> None:
        """The phases of this attempt."""
        row = shot.row
        launching = row.status == "launching"
        self.title.setText(tr("Launching.") if launching else tr("Preparing."))
        left = row.remaining_seconds
        detail = tr("The engine is starting.") if launching else tr("Training begins when the phases are done.")
        if left and row.phase:
            detail = tr("{phase} takes {time} more.", phase=phase_words(row.phase), time=about(left))
        self.detail.setText(detail)
        self.phases.set_phases(phases_of(shot))


def phases_of(shot: Snapshot) -> list[Phase]:
    """Phases of the present attempt out of its events; the running one with its count."""
    row = shot.row
    seconds: dict[str, float | None] = {}
    for event in shot.events:
        if event.attempt != row.attempt or event.kind not in ("PhaseStarted", "PhaseCompleted"):
            continue
        content = msgspec.json.decode(event.content, type=dict[str, object])
        took = content.get("seconds")
        seconds[str(content.get("phase"))] = float(took) if isinstance(took, int | float) else None
    found = []
    for name, took in seconds.items():
        if took is not None:
            found.append(Phase(phase_words(name), "done", 1.0, "", duration(took)))
            continue
        done, total = (row.phase_done, row.phase_total) if row.phase == name else (None, None)
        fraction = done / total if done is not None and total else None
        left = about(row.remaining_seconds) if row.remaining_seconds else ""
        found.append(Phase(phase_words(name), "running", fraction, phase_count(done, total, row.phase_unit), left))
    return found
